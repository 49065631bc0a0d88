import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  setMember,
} from "../../base/json.ts";
import type { StreamDelta, TextDelta } from "../../engine/ports/provider.ts";
import type { AnswerStream } from "../answers/answer-form.ts";
import { callStart } from "../answers/call-start.ts";
import { providerError } from "../failures/classify-error.ts";

/** Assembles a streamed answer: the texts of its lines are joined, calls come whole, and every other member has its newest value. */
export class OllamaStream implements AnswerStream {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #itemBytes: number;
  readonly #message: Record<string, JsonValue> = {};
  readonly #response: Record<string, JsonValue> = {};
  #textLength = 0;
  #calls = 0;

  /** @param itemBytes - The limit for all texts of the answer together. */
  constructor(onDelta: (delta: StreamDelta) => void, itemBytes: number) {
    this.#onDelta = onDelta;
    this.#itemBytes = itemBytes;
  }

  get isTooLarge(): boolean {
    return this.#textLength > this.#itemBytes;
  }

  /** The items so far of an answer that is cut off. */
  get partial(): readonly JsonObject[] {
    const { content, thinking, tool_calls: calls } = this.#message;
    const hasSpoken = [content, thinking].some((text) => typeof text === "string" && text !== "");
    return hasSpoken || calls !== undefined ? [{ role: "assistant", ...this.#message }] : [];
  }

  /**
   * Takes a line; returns the answer after the last line, as it would be without streaming, and null before.
   *
   * @throws {ProviderError} if the line reports an error.
   */
  take(_: string | null, { message, ...members }: JsonObject): JsonObject | null {
    if (members["error"] !== undefined) throw providerError({ body: members });
    for (const [name, value] of Object.entries(members))
      if (value !== undefined) setMember(this.#response, name, joined(this.#response[name], value));
    if (isJsonObject(message)) this.#takeMessage(message);
    if (this.#response["done"] !== true) return null;
    return { ...this.#response, message: { role: "assistant", content: "", ...this.#message } };
  }

  #takeMessage(message: JsonObject): void {
    const { thinking, content, tool_calls: calls } = message;
    this.#tell("reasoning-delta", 0, thinking);
    this.#tell("text-delta", 1, content);
    for (const call of listOf(calls)) this.#tellCall(call);
    for (const [name, value] of Object.entries(message))
      if (value !== undefined) setMember(this.#message, name, joined(this.#message[name], value, textNames.has(name)));
  }

  #tellCall(call: JsonValue): void {
    const { id: callId, function: told } = objectOf(call);
    const called = objectOf(told);
    const place = firstCall + this.#calls;
    this.#calls += 1;
    this.#onDelta(callStart(place, { callId, name: called["name"] }));
    this.#tell("tool-call-delta", place, JSON.stringify(called["arguments"] ?? {}));
  }

  /** An answer has one position for its reasoning and one for its text. */
  #tell(type: TextDelta["type"], outputIndex: number, text: JsonValue | undefined): void {
    if (typeof text !== "string" || text === "") return;
    this.#textLength += text.length;
    this.#onDelta({ type, outputIndex, text });
  }
}

/** Calls are passed on whole, each at a position of its own behind the text. */
const firstCall = 2;

const textNames: ReadonlySet<string> = new Set(["content", "thinking"]);

/** Texts come in pieces; lists (of calls, of probabilities) with their new items. */
function joined(before: JsonValue | undefined, value: JsonValue, isText = false): JsonValue {
  if (isText && typeof before === "string" && typeof value === "string") return before + value;
  return isJsonList(before) && isJsonList(value) ? [...before, ...value] : value;
}
