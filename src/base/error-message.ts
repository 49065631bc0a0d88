/** What something thrown says: anything may be thrown, also what has no text. */
export function messageOf(thrown: unknown): string {
  try {
    // A class of someone else's may hold anything as its message.
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return "something was thrown that has no text";
  }
}
