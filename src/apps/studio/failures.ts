import { messageOf } from "../../base/error-message.ts";
import { excerpt } from "../../base/printable.ts";
import { TurnlogError, type TurnlogErrorCode } from "../../base/turnlog-error.ts";
import type { ErrorDocument } from "./page-documents.ts";

/** A request that the handler refuses. */
export class RefusedError extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string;

  constructor(status: number, code: string, text: { readonly message: string; readonly hint?: string }) {
    super(text.message);
    this.status = status;
    this.code = code;
    this.hint = text.hint ?? "";
  }
}

const statuses: Partial<Record<TurnlogErrorCode, number>> = {
  ...{ "not-found": 404, "revision-not-found": 404, "request-not-found": 404, "access-denied": 403 },
  ...{ "store-unavailable": 503, "store-closed": 503, "store-not-found": 503, "store-replaced": 503 },
  ...{ "conversation-damaged": 422, "store-corrupted": 422, "unreadable-event": 422, "conversation-erased": 410 },
  ...{ "not-waiting": 409, "not-in-doubt": 409, "approval-decided": 409, "approval-expired": 409 },
  ...{ "run-in-progress": 409, "stack-changed": 409, "run-failed": 409, "replay-diverged": 409, "tool-missing": 409 },
  ...{ "approval-input": 422, "unknown-codec": 422, "prices-unusable": 422, "store-too-new": 409, usage: 400 },
};

const hints: Partial<Record<TurnlogErrorCode, string>> = {
  "not-found": "Go back to the conversations: it may be in another store.",
  "revision-not-found": "Choose a revision on the strip or in the log.",
  "request-not-found": "Choose a request on the strip.",
  "access-denied": "The program that serves this page may not read this.",
  "store-unavailable": "The page asks again by itself.",
  "store-closed": "Start turnlog studio again.",
  "store-replaced": "The store that was open here is gone: put it back if you can, and start turnlog studio again.",
  "conversation-damaged": "turnlog verify says where the damage begins.",
  "store-corrupted": "turnlog verify says where the damage begins.",
  "conversation-erased": "What was said in it is gone; its place in the log stays.",
  "not-waiting": "Somebody may have decided it: look at the inbox again.",
  "not-in-doubt": "Somebody may have settled it: look at the inbox again.",
  "approval-decided": "The first decision counts.",
  "approval-expired": "It counts as denied: resume the run, and the model reads that.",
  "approval-input": "Change the input, or deny the call.",
  "run-in-progress": "Its process is alive: follow it, or cancel it with turnlog cancel.",
  "run-failed": "The log has what it did; the conversation can continue.",
  "stack-changed": "Start turnlog studio with the stack that the run began with, or give the run up.",
  "replay-diverged":
    "A layer does not repeat what it did: start turnlog studio with the stack that the run began with, or give it up.",
  "unknown-codec": "Give the codec with turnlog why --stack FILE.",
  "store-too-new": "Update turnlog.",
};

const codeOf = ({ code }: { readonly code: TurnlogErrorCode }): TurnlogErrorCode => code;

/** The answer to a failed request: what failed, its code, and what to do. */
export function failureAnswer(error: unknown): { readonly status: number; readonly document: ErrorDocument } {
  if (error instanceof RefusedError) {
    const { status, code, message, hint } = error;
    return { status, document: { error: { code, message, hint } } };
  }
  const message = excerpt(messageOf(error), 400);
  if (error instanceof TurnlogError) {
    // The class is generic, and an instance of it has any of the codes.
    const code = codeOf(error as TurnlogError);
    return { status: statuses[code] ?? 500, document: { error: { code, message, hint: hints[code] ?? "" } } };
  }
  const isInput = error instanceof TypeError || error instanceof RangeError;
  return {
    status: isInput ? 400 : 500,
    document: { error: { code: isInput ? "input" : "internal", message, hint: "" } },
  };
}
