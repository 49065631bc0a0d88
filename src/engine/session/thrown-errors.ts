import type { Thrower } from "./errors.ts";

/**
 * Which layer threw an error first that came out of calls of `next`: a layer that lets one through has not thrown it. A
 * long run throws and catches many, and none is kept alive.
 */
export class ThrownErrors {
  readonly #byObject = new WeakMap<object, Thrower | null>();
  /** What is no object has no identity: of those only the newest is known. */
  #newest: { readonly value: unknown; readonly by: Thrower | null } | null = null;

  note(error: unknown, by: Thrower | null): void {
    if (isObject(error)) {
      if (!this.#byObject.has(error)) this.#byObject.set(error, by);
    } else if (this.#newest === null || !Object.is(this.#newest.value, error)) this.#newest = { value: error, by };
  }

  /** A layer has returned, so what was thrown within it was caught: another may throw the same text. */
  forget(): void {
    this.#newest = null;
  }

  /** Null where no layer threw it. */
  throwerOf(error: unknown): Thrower | null {
    if (isObject(error)) return this.#byObject.get(error) ?? null;
    return this.#newest !== null && Object.is(this.#newest.value, error) ? this.#newest.by : null;
  }
}

const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function";
