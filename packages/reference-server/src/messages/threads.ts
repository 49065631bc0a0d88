import type { ReceivedRequest } from "../options.ts";
import type { Refusal } from "../refusals.ts";
import { isArray, isObject, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { countMarks, said } from "./request.ts";

/** What a server keeps under the id of a message: everything that the model read and answered, until a request continues from it. */
interface Kept {
  readonly whole: JsonObject;
  readonly content: readonly JsonObject[];
  readonly at: number;
  isContinued: boolean;
  isInFlight: boolean;
}

/** A request together with everything that the model reads for it. */
export interface WholeRequest {
  readonly whole: JsonObject;
  /** The message from which it continues. */
  readonly parent: Kept | null;
  /** How many of the messages the server already has. */
  readonly held: number;
  /** Whether a request can continue from its answer. */
  readonly isKept: boolean;
}

/** The options of a server that its threads use. */
interface ThreadOptions {
  readonly now?: () => number;
  readonly takesThreadMarks?: boolean;
}

/** Message threads (beta `message-threads-2026-08-12`): what they keep, and what they reject. */
export class Threads {
  readonly #kept = new Map<string, Kept>();
  readonly #now: () => number;

  readonly #takesMarks: boolean;

  constructor({ now = Date.now, takesThreadMarks = false }: ThreadOptions) {
    this.#now = now;
    this.#takesMarks = takesThreadMarks;
  }

  clear(): void {
    this.#kept.clear();
  }

  /** The whole request as the model reads it, or why it is rejected. */
  wholeOf(body: JsonObject, headers: ReceivedRequest["headers"]): WholeRequest | { readonly refusal: Refusal } {
    const { thread, ...whole } = body;
    if (thread === undefined) return { whole: body, parent: null, held: 0, isKept: false };
    if (!String(headers["anthropic-beta"] ?? "").includes(beta))
      return { refusal: said("thread: Extra inputs are not permitted") };
    const strange = unsupportedIn(body, this.#takesMarks);
    if (strange.length > 0)
      return { refusal: refused("thread_unsupported_request", `threads do not support: ${strange.join(", ")}`) };
    const marks = marksOf(body);
    if (marks > maxMarks)
      return {
        refusal: said(
          `a maximum of ${maxMarks} blocks with cache_control may be provided when thread is set; the fourth is reserved. Found ${marks}.`,
        ),
      };
    const { type, previous_message_id: id } = isObject(thread) ? thread : {};
    if (type === "create") return { whole, parent: null, held: 0, isKept: true };
    if (type !== "continue" || stringOf(id) === undefined)
      return { refusal: said("thread: Input should be 'create', or 'continue' with previous_message_id") };
    return this.#continued(stringOf(id) ?? "", whole);
  }

  #continued(id: string, body: JsonObject): WholeRequest | { readonly refusal: Refusal } {
    const repeated = ["system", "tools"].find((name) => Object.hasOwn(body, name));
    if (repeated !== undefined) return { refusal: said(`${repeated}: it cannot be given when a thread is continued`) };
    const parent = this.#kept.get(id);
    if (parent === undefined || this.#now() - parent.at > keptMs)
      return { refusal: refused("thread_not_found", `No thread ends with message ${id}`) };
    if (parent.isContinued)
      return { refusal: refused("thread_already_continued", `Message ${id} has been continued already`) };
    if (parent.isInFlight)
      return { refusal: refused("thread_continue_in_flight", `Message ${id} is being continued by another request`) };
    const differing = fingerprint.filter((name) => textOf(body[name]) !== textOf(parent.whole[name]));
    if (differing.length > 0)
      return { refusal: refused("thread_fingerprint_mismatch", `The thread differs in ${differing.join(", ")}`) };
    // No documentation says what becomes of earlier breakpoints: here those of the request alone count.
    const { system, tools, messages } = unmarked(parent.whole);
    const kept = [...objectsOf(messages), { role: "assistant", content: parent.content }];
    const whole = {
      ...body,
      ...(system === undefined ? {} : { system }),
      ...(tools === undefined ? {} : { tools }),
      messages: [...kept, ...(isArray(body["messages"]) ? body["messages"] : [])],
    };
    return { whole, parent, held: kept.length, isKept: true };
  }

  /** Stores the answer: one request can continue from it, and none from its parent any more. */
  keep(id: string, { whole, parent }: WholeRequest, content: readonly JsonObject[]): void {
    if (parent !== null) parent.isContinued = true;
    this.#kept.set(id, { whole, content, at: this.#now(), isContinued: false, isInFlight: false });
  }
}

const beta = "message-threads-2026-08-12";

const keptMs = 5 * 60 * 1000;

/** Members that must not change. No documentation says so for `model`. */
const fingerprint = ["model", "output_config"] as const;

const textOf = (value: Json | undefined): string => JSON.stringify(value ?? null);

const maxMarks = 3;

const marksOf = (body: JsonObject): number =>
  countMarks([body["system"] ?? null, body["tools"] ?? null, body["messages"] ?? null]) +
  (body["cache_control"] === undefined ? 0 : 1);

/** A request without its breakpoints. */
function unmarked(body: JsonObject): JsonObject {
  const bare = (blocks: Json | undefined): Json | undefined =>
    isArray(blocks) ? objectsOf(blocks).map(({ cache_control: _, ...block }) => block) : blocks;
  const { cache_control: _, system, tools, messages, ...others } = body;
  return {
    ...others,
    ...(system === undefined ? {} : { system: bare(system) ?? null }),
    ...(tools === undefined ? {} : { tools: bare(tools) ?? null }),
    messages: objectsOf(messages).map((message) => ({ ...message, content: bare(message["content"]) ?? null })),
  };
}

/** No documentation says that thinking in a message is rejected like the setting. */
const unsupportedIn = (body: JsonObject, takesMarks: boolean): readonly string[] => [
  ...["context_management", "fallbacks"].filter((name) => body[name] !== undefined),
  ...(body["thinking"] === undefined && !hasThinking(body) ? [] : ["thinking"]),
  ...(takesMarks || marksOf(body) === 0 ? [] : ["cache_control"]),
];

const hasThinking = ({ messages }: JsonObject): boolean =>
  objectsOf(messages).some(({ content }) =>
    objectsOf(content).some(({ type }) => /thinking$/.test(stringOf(type) ?? "")),
  );

function refused(code: string, message: string): Refusal {
  const isMissing = code === "thread_not_found";
  const { status, body } = said(message, isMissing ? 404 : 400, isMissing ? "not_found_error" : undefined);
  const told = objectsOf([body])[0] ?? {};
  return {
    status,
    body: { ...told, error: { ...objectsOf([told["error"] ?? null])[0], details: { error_code: code } } },
  };
}
