import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  setMember,
} from "../../base/json.ts";
import type { StreamDelta } from "../../engine/stack/provider.ts";
import { providerError } from "../classify-error.ts";

/**
 * Puts a streamed answer together: the texts of its lines are joined and calls come whole; every other member is the last one that
 * was said.
 */
export class OllamaStream {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #message: Record<string, JsonValue> = {};
  readonly #response: Record<string, JsonValue> = {};
  #textLength = 0;

  constructor(onDelta: (delta: StreamDelta) => void) {
    this.#onDelta = onDelta;
  }

  /** The server has said that this was all. */
  get isDone(): boolean {
    return this.#response["done"] === true;
  }

  /** The characters of all texts so far. */
  get textLength(): number {
    return this.#textLength;
  }

  /** The answer as one that is not streamed would be. */
  get response(): JsonObject {
    return { ...this.#response, message: { role: "assistant", content: "", ...this.#message } };
  }

  /** What has come of an answer that breaks off. */
  get partial(): readonly JsonObject[] {
    const { content, thinking, tool_calls: calls } = this.#message;
    const hasSpoken = [content, thinking].some((text) => typeof text === "string" && text !== "");
    return hasSpoken || calls !== undefined ? [{ role: "assistant", ...this.#message }] : [];
  }

  /**
   * Takes a line.
   *
   * @throws {ProviderError} for one that tells an error.
   */
  take({ message, ...members }: JsonObject): void {
    if (members["error"] !== undefined) throw providerError({ body: members });
    for (const [name, value] of Object.entries(members))
      if (value !== undefined) setMember(this.#response, name, joined(this.#response[name], value));
    if (!isJsonObject(message)) return;
    const { thinking, content, tool_calls: calls } = message;
    this.#tell("reasoning-delta", thinking);
    this.#tell("text-delta", content);
    for (const call of listOf(calls)) this.#tellCall(call);
    for (const [name, value] of Object.entries(message))
      if (value !== undefined) setMember(this.#message, name, joined(this.#message[name], value, textNames.has(name)));
  }

  #tellCall(call: JsonValue): void {
    const called = objectOf(objectOf(call)["function"]);
    this.#tell("tool-call-delta", JSON.stringify(called["arguments"] ?? {}));
  }

  /** Of each kind there is one place in an answer; calls are told whole. */
  #tell(type: Exclude<StreamDelta["type"], "item-done" | "usage">, text: JsonValue | undefined): void {
    if (typeof text !== "string" || text === "") return;
    this.#textLength += text.length;
    this.#onDelta({ type, outputIndex: indexes[type], text });
  }
}

const indexes = { "reasoning-delta": 0, "text-delta": 1, "tool-call-delta": 2 } as const;

const textNames: ReadonlySet<string> = new Set(["content", "thinking"]);

/** Texts come in pieces, lists (of calls, of probabilities) with what is new. */
function joined(before: JsonValue | undefined, value: JsonValue, isText = false): JsonValue {
  if (isText && typeof before === "string" && typeof value === "string") return before + value;
  return isJsonList(before) && isJsonList(value) ? [...before, ...value] : value;
}
