/** Lets a promise fail that nobody waits for: it was given where a plain value belongs, and its failure would end the process. */
export function unwatched(value: unknown): void {
  if (value instanceof Promise) value.catch(() => undefined);
}
