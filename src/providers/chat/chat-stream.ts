import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import type { ProviderError, StreamDelta } from "../../engine/stack/provider.ts";
import { providerError } from "../classify-error.ts";
import { withPartial } from "../response-stream.ts";

/**
 * Puts a streamed completion together: the texts of its chunks are joined, calls by their `index`; every other member is the
 * last one that was said (providers.md, section 3).
 */
export class ChatStream {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #message: Record<string, JsonValue> = {};
  readonly #calls = new Map<number, Record<string, JsonValue>>();
  readonly #choice: Record<string, JsonValue> = {};
  readonly #response: Record<string, JsonValue> = {};
  #textBytes = 0;

  constructor(onDelta: (delta: StreamDelta) => void) {
    this.#onDelta = onDelta;
  }

  /** Whether the server has said how the answer ended: what follows is its usage. */
  get isFinished(): boolean {
    return typeof this.#choice["finish_reason"] === "string";
  }

  /** The bytes of the longest text so far. */
  get textBytes(): number {
    return this.#textBytes;
  }

  /** The completion as an answer that is not streamed would have it. */
  get response(): JsonObject {
    const calls = [...this.#calls].toSorted(([left], [right]) => left - right).map(([, call]) => call);
    const message = { role: "assistant", content: null, ...this.#message };
    const called = calls.length === 0 ? message : { ...message, tool_calls: calls };
    return { ...this.#response, choices: [{ index: 0, ...this.#choice, message: called }] };
  }

  /** What has come of an answer that breaks off. */
  get partial(): readonly JsonObject[] {
    const { content } = this.#message;
    return typeof content === "string" && content !== "" ? [{ role: "assistant", content }] : [];
  }

  /**
   * Takes a chunk.
   *
   * @throws {ProviderError} for one that tells an error.
   */
  take(chunk: JsonObject): void {
    if ((chunk["error"] ?? null) !== null) throw this.failure(chunk);
    const { choices, ...members } = chunk;
    for (const [name, value] of Object.entries(members))
      if (value !== undefined && value !== null)
        setMember(
          this.#response,
          name,
          name === "object" && value === "chat.completion.chunk" ? "chat.completion" : value,
        );
    for (const choice of isJsonList(choices) ? choices.filter(isJsonObject) : []) {
      const { delta, index = 0, ...rest } = choice;
      // Only the first is read: a request asks for one.
      if (index !== 0) continue;
      for (const [name, value] of Object.entries(rest))
        if (value !== undefined && value !== null) setMember(this.#choice, name, value);
      if (isJsonObject(delta)) this.#takeDelta(delta);
    }
  }

  /** An error that the server told in its stream, with what had come until then. */
  failure(body: JsonValue): ProviderError {
    const error = providerError({ body });
    return this.partial.length === 0 ? error : withPartial(error, this.partial);
  }

  #takeDelta({ tool_calls: calls, ...members }: JsonObject): void {
    for (const [name, value] of Object.entries(members)) {
      if (value === undefined || value === null) continue;
      setMember(this.#message, name, joined(this.#message[name], value, name));
      const type = deltaTypes.get(name);
      if (type !== undefined) this.#tell(type, 0, value);
    }
    for (const part of isJsonList(calls) ? calls.filter(isJsonObject) : []) this.#takeCall(part);
  }

  /** Id and name of a call come first, its arguments in pieces. */
  #takeCall({ index, ...part }: JsonObject): void {
    const place = typeof index === "number" ? index : this.#calls.size;
    const call = this.#calls.get(place) ?? {};
    this.#calls.set(place, call);
    for (const [name, value] of Object.entries(part)) {
      if (value === undefined || value === null) continue;
      setMember(call, name, isJsonObject(value) ? joinedMembers(call[name], value) : value);
      if (isJsonObject(value)) this.#tell("tool-call-delta", place + 1, value["arguments"] ?? value["input"]);
    }
  }

  #tell(
    type: Exclude<StreamDelta["type"], "item-done" | "usage">,
    outputIndex: number,
    text: JsonValue | undefined,
  ): void {
    if (typeof text !== "string" || text === "") return;
    this.#textBytes += text.length;
    this.#onDelta({ type, outputIndex, text });
  }
}

const deltaTypes: ReadonlyMap<string, "text-delta" | "reasoning-delta"> = new Map([
  ["content", "text-delta"],
  ["refusal", "text-delta"],
  ["reasoning_content", "reasoning-delta"],
  ["reasoning", "reasoning-delta"],
]);

/** Texts that come in pieces; names of roles, types and ids are said whole, if again. */
const piecewise: ReadonlySet<string> = new Set([...deltaTypes.keys(), "arguments", "input"]);

function joined(before: JsonValue | undefined, value: JsonValue, name: string): JsonValue {
  if (typeof before === "string" && typeof value === "string" && piecewise.has(name)) return before + value;
  if (isJsonList(before) && isJsonList(value)) return [...before, ...value];
  return value;
}

function joinedMembers(before: JsonValue | undefined, members: JsonObject): JsonObject {
  const all: Record<string, JsonValue> = {};
  for (const each of [isJsonObject(before) ? before : {}, members])
    for (const [name, value] of Object.entries(each))
      if (value !== undefined && value !== null) setMember(all, name, joined(all[name], value, name));
  return all;
}
