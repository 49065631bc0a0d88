/**
 * In the place of zod in a page: the schemas of turnlog's events and records check values as zod does, and say nothing of why one fails. A test compares
 * both. zod is half of what a page would load, for messages and conversions that no page needs.
 */
type Check = (value: unknown) => boolean;

type Result =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly error: SchemaError };

class SchemaError extends Error {}

class Schema {
  readonly accepts: Check;
  /** Of an object, its members. */
  readonly shape: Shape;
  readonly isOptional: boolean;

  constructor(
    accepts: Check,
    { shape = {}, isOptional = false }: { readonly shape?: Shape; readonly isOptional?: boolean } = {},
  ) {
    this.accepts = accepts;
    this.shape = shape;
    this.isOptional = isOptional;
  }

  safeParse(value: unknown): Result {
    if (this.accepts(value)) return { success: true, data: value };
    return { success: false, error: new SchemaError("the value does not follow its schema") };
  }

  parse(value: unknown): unknown {
    const result = this.safeParse(value);
    if (!result.success) throw result.error;
    return result.data;
  }

  brand(): this {
    return this;
  }

  readonly(): this {
    return this;
  }

  nullable(): Schema {
    return new Schema((value) => value === null || this.accepts(value));
  }

  extend(more: Shape): Schema {
    return strictObject({ ...this.shape, ...more });
  }

  partial(): Schema {
    return strictObject(Object.fromEntries(Object.entries(this.shape).map(([name, each]) => [name, optional(each)])));
  }

  regex(pattern: RegExp): Schema {
    return this.#and((value) => typeof value === "string" && pattern.test(value));
  }

  min(least: number): Schema {
    return this.#and((value) => (typeof value === "number" ? value : lengthOf(value)) >= least);
  }

  max(most: number): Schema {
    return this.#and((value) => (typeof value === "number" ? value : lengthOf(value)) <= most);
  }

  length(exact: number): Schema {
    return this.#and((value) => lengthOf(value) === exact);
  }

  int(): Schema {
    return this.#and(Number.isSafeInteger);
  }

  nonnegative(): Schema {
    return this.#and((value) => Number(value) >= 0);
  }

  positive(): Schema {
    return this.#and((value) => Number(value) > 0);
  }

  #and(rule: Check): Schema {
    return new Schema((value) => this.accepts(value) && rule(value), { shape: this.shape });
  }
}

type Shape = Readonly<Record<string, Schema>>;
type Members = Readonly<Record<string, unknown>>;

const lengthOf = (value: unknown): number => (typeof value === "string" || Array.isArray(value) ? value.length : 0);

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const string = (): Schema => new Schema((value) => typeof value === "string");
export const number = (): Schema => new Schema(Number.isFinite);
export const int = (): Schema => new Schema(Number.isSafeInteger);
export const boolean = (): Schema => new Schema((value) => typeof value === "boolean");
export const unknown = (): Schema => new Schema(() => true);
export const custom = (accepts: Check = () => true): Schema => new Schema(accepts);

export function literal(given: unknown): Schema {
  const values: ReadonlySet<unknown> = new Set(Array.isArray(given) ? given : [given]);
  return new Schema((value) => values.has(value));
}

const oneOf = (values: readonly string[]): Schema => literal([...values]);

export { oneOf as enum };

export const array = (element: Schema): Schema =>
  new Schema((value) => Array.isArray(value) && value.every((item) => element.accepts(item)));

export const tuple = (elements: readonly Schema[]): Schema =>
  new Schema(
    (value) =>
      Array.isArray(value) &&
      value.length === elements.length &&
      elements.every((element, index) => element.accepts(value[index])),
  );

export const nullable = (schema: Schema): Schema => schema.nullable();
export const union = (options: readonly Schema[]): Schema =>
  new Schema((value) => options.some((option) => option.accepts(value)));

/** Each option has another value of that member, so that one fits at most. */
export const discriminatedUnion = (_: string, options: readonly Schema[]): Schema => union(options);

export const record = (names: Schema, values: Schema): Schema =>
  new Schema(
    (value) =>
      isMembers(value) &&
      Object.entries(value).every(([name, member]) => names.accepts(name) && values.accepts(member)),
  );

const optional = (schema: Schema): Schema =>
  new Schema((value) => value === undefined || schema.accepts(value), { isOptional: true });

/** A member that may be absent, and is never undefined. */
export const exactOptional = (schema: Schema): Schema => new Schema(schema.accepts, { isOptional: true });

export function strictObject(shape: Shape): Schema {
  const names = new Set(Object.keys(shape));
  return new Schema((value) => fits(value, shape) && Object.keys(value).every((name) => names.has(name)), { shape });
}

export const looseObject = (shape: Shape): Schema => new Schema((value) => fits(value, shape), { shape });

const fits = (value: unknown, shape: Shape): value is Members =>
  isMembers(value) &&
  Object.entries(shape).every(([name, schema]) => (name in value ? schema.accepts(value[name]) : schema.isOptional));

export const prettifyError = (): string => "it does not follow its schema";
