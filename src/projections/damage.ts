import { TurnlogError } from "../base/turnlog-error.ts";
/** What an event says and what the events before it give do not agree: damage, never a warning. */
export class ConversationDamagedError extends TurnlogError<"conversation-damaged"> {
  override readonly name = "ConversationDamagedError";
  /** The revision at which it shows; null while it has no place in the log yet. */
  readonly revision: number | null;
  /** Whose revision that is: of a fork, it may be an ancestor's. */
  readonly stream: string | null;

  constructor(
    message: string,
    revision: number | null,
    { stream = null, cause }: { readonly stream?: string | null; readonly cause?: unknown } = {},
  ) {
    const of = stream === null ? "" : ` of ${stream}`;
    super("conversation-damaged", revision === null ? message : `at revision ${revision}${of}: ${message}`, { cause });
    this.revision = revision;
    this.stream = stream;
  }
}
