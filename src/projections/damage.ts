import { TurnlogError } from "../base/turnlog-error.ts";
/** An event contradicts the events before it: damage, never a warning. */
export class ConversationDamagedError extends TurnlogError<"conversation-damaged"> {
  override readonly name = "ConversationDamagedError";
  /** The revision at which the damage shows; null for an event that is not in the log yet. */
  readonly revision: number | null;
  /** The stream of that revision: for a fork, it may be an ancestor's. */
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
