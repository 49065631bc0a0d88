/** What an event says and what the events before it give do not agree: damage, never a warning. */
export class ConversationDamagedError extends Error {
  override readonly name = "ConversationDamagedError";
  readonly code = "conversation-damaged";
  /** The revision at which it shows; null while it has no place in the log yet. */
  readonly revision: number | null;

  constructor(message: string, revision: number | null, cause?: unknown) {
    super(revision === null ? message : `at revision ${revision}: ${message}`, { cause });
    this.revision = revision;
  }
}
