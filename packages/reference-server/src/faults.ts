import { errorRow } from "./error-rows.ts";
import { type Json, type JsonObject, objectsOf, stringOf } from "./wire.ts";

/** One thing that goes wrong with one request. */
export type Fault =
  /** Answers with these bytes instead, and does nothing else. */
  | { readonly kind: "answer"; readonly status: number; readonly body: Json; readonly headers?: Record<string, string> }
  /**
   * Destroys the socket after this many bytes of the answer's body. Unless `isActed`, the response is never
   * committed: when a foreground stream breaks off, the generation ends. A shorter body is sent completely.
   */
  | { readonly kind: "cut"; readonly afterBytes: number; readonly isActed?: boolean }
  /** Commits the response, but the client gets no answer. */
  | { readonly kind: "lost-acknowledgement" }
  /** Waits, before anything else or after this many bytes of the answer. */
  | { readonly kind: "delay"; readonly ms?: number; readonly until?: Promise<unknown>; readonly afterBytes?: number }
  /** Answers from the input alone and echoes null, as servers do that ignore the field. */
  | { readonly kind: "ignore-previous" }
  /** Only the echoed `previous_response_id` is wrong. */
  | { readonly kind: "echo"; readonly previousResponseId: string | null }
  /** Says `store: true`, but forgets the response. */
  | { readonly kind: "unstored" }
  /** The answer reaches the client with another first letter than in the server's copy. */
  | { readonly kind: "corrupt" }
  /** The answer ends with a reason that no client knows. */
  | { readonly kind: "unknown-end" }
  /** The model makes its first call twice, with one call id. */
  | { readonly kind: "duplicate-call" }
  /** Withholds the context's reasoning from the model, and says so in `input_transformations`. */
  | { readonly kind: "withhold"; readonly reason: string }
  /** The caches have lost all entries before this request reads them. */
  | { readonly kind: "evict" }
  /** A machine without any cache entry answers this request, and no other. */
  | { readonly kind: "cold-machine" }
  /** The answer does not report what was cached. */
  | { readonly kind: "untold" }
  /** An `error` frame in the stream instead of an answer: flat as the SDK types it, or nested as on the real wire. */
  | { readonly kind: "stream-error"; readonly error: JsonObject; readonly isNested: boolean }
  /** On a WebSocket, sends this frame in place of the rest, after this many frames of the answer, and nothing more. */
  | { readonly kind: "frame"; readonly data: string | Uint8Array; readonly afterFrames: number };

/** The fault that answers a request with a row of `errorRows`, whether or not a rule also produces it. */
export function cannedError(name: string): Fault {
  const { status, body } = errorRow(name);
  return { kind: "answer", status, body };
}

/** The same items with another first letter in the first text or argument. */
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

/** The text of an answer, on any wire, with an end reason that no client knows. */
export const withUnknownEnd = (text: string): string =>
  text
    .replaceAll(
      /("(?:finish_reason|stop_reason|finishReason|done_reason|subtype)":)"(?!init)[a-zA-Z_]+"/g,
      '$1"unheard_of"',
    )
    // For the AI SDK, and for a response and its last event, but not for items and parts.
    .replaceAll(/("finishReason":\{"unified":)"[a-z-]+"/g, '$1"other"')
    .replaceAll(/("object":"response","created_at":\d+,"status":)"(?:completed|incomplete)"/g, '$1"unheard_of"')
    .replaceAll(/("status":)"completed"(?=,"(?:steps|usage|model|outputs)")/g, '$1"unheard_of"');
