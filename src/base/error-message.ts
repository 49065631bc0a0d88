/** The message of a thrown value, which may be anything, even a value without a text. */
export function messageOf(thrown: unknown): string {
  try {
    // A foreign class may have anything as its message.
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return "the thrown value has no message";
  }
}
