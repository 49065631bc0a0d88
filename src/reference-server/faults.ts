import { errorRow } from "./error-rows.ts";
import { type Json, type JsonObject, objectsOf, stringOf } from "./wire.ts";

/** One thing that goes wrong with one request. */
export type Fault =
  /** Answered with these bytes instead; nothing is done. */
  | { readonly kind: "answer"; readonly status: number; readonly body: Json; readonly headers?: Record<string, string> }
  /**
   * The socket is destroyed after so many bytes of the answer's body. Unless `isActed`, the response was never
   * committed: a foreground stream that breaks off ends the generation. A body that is shorter goes out whole.
   */
  | { readonly kind: "cut"; readonly afterBytes: number; readonly isActed?: boolean }
  /** The response is committed, the client never hears of it. */
  | { readonly kind: "lost-acknowledgement" }
  /** Waits, before anything is done or after so many bytes of the answer. */
  | { readonly kind: "delay"; readonly ms?: number; readonly until?: Promise<unknown>; readonly afterBytes?: number }
  /** Answers from the input alone and echoes null, as servers do that drop the field. */
  | { readonly kind: "ignore-previous" }
  /** Everything is right but the echoed `previous_response_id`. */
  | { readonly kind: "echo"; readonly previousResponseId: string | null }
  /** Says `store: true` and forgets the response. */
  | { readonly kind: "unstored" }
  /** The answer reaches the client with another first letter than the server holds. */
  | { readonly kind: "corrupt" }
  /** The answer says that it ended for a reason that no client knows. */
  | { readonly kind: "unknown-end" }
  /** The model makes its first call twice, under one call id. */
  | { readonly kind: "duplicate-call" }
  /** The model does not get the context's reasoning, and `input_transformations` says so. */
  | { readonly kind: "withhold"; readonly reason: string }
  /** An `error` frame in the stream instead of an answer: flat as the SDK types it, or nested as seen on the wire. */
  | { readonly kind: "stream-error"; readonly error: JsonObject; readonly isNested: boolean }
  /** On a WebSocket, this frame instead of what would come after so many frames of the answer; then nothing more. */
  | { readonly kind: "frame"; readonly data: string | Uint8Array; readonly afterFrames: number };

/** The fault that answers a request with a row of `errorRows`, whether or not a rule gives it by itself. */
export function cannedError(name: string): Fault {
  const { status, body } = errorRow(name);
  return { kind: "answer", status, body };
}

/** The same items, of which the first text or argument has another first letter. */
export function corrupted(output: readonly JsonObject[]): readonly JsonObject[] {
  const changed = (value: Json | undefined): string => {
    const text = stringOf(value) ?? "";
    return `${text.startsWith("x") ? "y" : "x"}${text.slice(1)}`;
  };
  let isDone = false;
  return output.map((item) => {
    if (isDone) return item;
    const [part, ...parts] = objectsOf(item["content"]);
    isDone = "arguments" in item || (item["type"] === "message" && part !== undefined);
    if ("arguments" in item) return { ...item, arguments: changed(item["arguments"]) };
    if (item["type"] !== "message" || part === undefined) return item;
    const member = part["type"] === "refusal" ? "refusal" : "text";
    return { ...item, content: [{ ...part, [member]: changed(part[member]) }, ...parts] };
  });
}

/** The text of an answer, in any wire, whose end has a reason that no client knows. */
export const withUnknownEnd = (text: string): string =>
  text
    .replaceAll(
      /("(?:finish_reason|stop_reason|finishReason|done_reason|subtype)":)"(?!init)[a-zA-Z_]+"/g,
      '$1"unheard_of"',
    )
    // Of the AI SDK, and of a response and its last event; not of items and parts.
    .replaceAll(/("finishReason":\{"unified":)"[a-z-]+"/g, '$1"other"')
    .replaceAll(/("object":"response","created_at":\d+,"status":)"(?:completed|incomplete)"/g, '$1"unheard_of"')
    .replaceAll(/("status":)"completed"(?=,"(?:steps|usage|model|outputs)")/g, '$1"unheard_of"');
