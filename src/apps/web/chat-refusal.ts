import { TurnlogError, type TurnlogErrorCode } from "../../base/turnlog-error.ts";

/** A request that the handler refuses, as HTTP has it. */
export class ChatRefusal extends Error {
  override readonly name = "ChatRefusal";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** There is no such conversation for this user; another user may have it. */
export const noConversation = (): ChatRefusal => new ChatRefusal(404, "not-found", "there is no such conversation");

const statuses: Partial<Record<TurnlogErrorCode, number>> = {
  ...{ "not-found": 404, "not-waiting": 409, "approval-decided": 409, "approval-expired": 409, "approval-input": 422 },
  ...{ "message-not-found": 404, "run-in-progress": 409, "key-reused": 409, "access-denied": 403 },
  ...{ "store-unavailable": 503, "store-closed": 503, "conversation-erased": 410, "conversation-damaged": 422 },
};

/** The answer to a request that failed. The words of unexpected errors stay in the program. */
export function failureOf(error: unknown): Response {
  const { status, code, message } = described(error);
  return Response.json({ error: { code, message } }, { status, headers: { "cache-control": "no-store" } });
}

function described(error: unknown): { readonly status: number; readonly code: string; readonly message: string } {
  if (error instanceof ChatRefusal) return error;
  if (!(error instanceof TurnlogError)) return { status: 500, code: "internal", message: "the request failed" };
  // The class is generic, and an instance of it has any of the codes.
  const { code } = error as TurnlogError;
  const status = statuses[code];
  return {
    status: status ?? 500,
    code,
    message: status === undefined || status >= 500 ? "the request failed" : error.message,
  };
}
