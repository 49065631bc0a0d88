/**
 * Ignores the rejection of a promise that no code awaits, because it was given in the place of a plain value: otherwise it would
 * end the process.
 */
export function unwatched(value: unknown): void {
  if (value instanceof Promise) value.catch(() => undefined);
}
