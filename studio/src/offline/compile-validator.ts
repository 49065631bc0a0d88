/** In the place of the compiled validators of the same name: the schemas of a page check without copying as they are. */
export const compileValidator =
  (schema: { readonly safeParse: (value: unknown) => { readonly success: boolean } }) =>
  (value: unknown): boolean =>
    schema.safeParse(value).success;
