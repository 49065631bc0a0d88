/** After it, earlier events read otherwise: one is left out, or content of some was erased. What was folded of them has to be folded anew. */
export const changesEarlier = ({ type }: { readonly type: string }): boolean =>
  type === "EventSkipped" || type === "LinesErased";
