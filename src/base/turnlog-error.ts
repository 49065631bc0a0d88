/**
 * Every code of a `TurnlogError`. Codes are stable across versions; messages may change. docs/ERRORS.md says for each code what
 * happened and what to do.
 */
export const turnlogErrorCodes = [
  "access-denied",
  "allowance-unusable",
  "approval-decided",
  "approval-expired",
  "approval-input",
  "budget-exceeded",
  "bundle-unusable",
  "chain-required",
  "concurrent-next",
  "config-unusable",
  "content-blocked",
  "content-erased",
  "content-not-read",
  "context-missing",
  "conversation-damaged",
  "conversation-erased",
  "conversation-exists",
  "copy-diverged",
  "edit-does-not-apply",
  "effect-failed",
  "effect-in-doubt",
  "empty-conversation",
  "empty-turn",
  "engine-disposed",
  "erased-block",
  "erasure-not-found",
  "erasure-refused",
  "event-not-damaged",
  "event-too-large",
  "exchange-not-found",
  "file-exists",
  "frame-not-found",
  "instructions-hidden",
  "invalid-event",
  "iteration-limit",
  "key-reused",
  "late-next",
  "layer-not-found",
  "layer-timeout",
  "mcp-unusable",
  "message-not-found",
  "mode-unsupported",
  "next-not-awaited",
  "no-open-call",
  "no-summary",
  "no-views",
  "not-a-handler",
  "not-a-turn",
  "not-found",
  "not-in-doubt",
  "not-waiting",
  "nothing-to-send",
  "output-mismatch",
  "part-unsendable",
  "prices-unusable",
  "projection-outdated",
  "provider-failed",
  "provider-settings",
  "receipt-unwritten",
  "replay-diverged",
  "request-not-found",
  "revision-not-found",
  "route-failed",
  "route-not-found",
  "run-cancelled",
  "run-failed",
  "run-in-progress",
  "run-parked",
  "run-taken-over",
  "run-unfinished",
  "run-within-run",
  "settings-too-large",
  "stack-changed",
  "stepping-left",
  "store-cannot-erase",
  "store-closed",
  "store-corrupted",
  "store-not-found",
  "store-replaced",
  "store-takes-no-lines",
  "store-too-new",
  "store-unavailable",
  "stream-contended",
  "tool-in-doubt",
  "tool-input",
  "tool-missing",
  "unknown-block-version",
  "unknown-codec",
  "unknown-store",
  "unreadable-event",
  "usage",
  "window-outdated",
] as const;

export type TurnlogErrorCode = (typeof turnlogErrorCodes)[number];

/**
 * An error that a program can react to, distinguished by its `code`; some codes have a subclass with more members. Mistakes that
 * only the programmer can fix, such as an argument of the wrong shape, are a `TypeError` or `RangeError` instead.
 *
 * @example
 * if (error instanceof TurnlogError && error.code === "run-in-progress") return tryLater();
 */
export class TurnlogError<Code extends TurnlogErrorCode = TurnlogErrorCode> extends Error {
  override readonly name: string = "TurnlogError";
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
