import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  setMember,
} from "../../base/json.ts";
import type { ProviderError, StreamDelta } from "../../engine/stack/provider.ts";
import type { AnswerForm, AnswerStream, StreamedAnswer } from "../answer-form.ts";
import { answerLimits } from "../answer-limits.ts";
import { providerError, withPartial } from "../classify-error.ts";
import { tokensIn } from "./chat-answer.ts";

/**
 * Puts a streamed completion together: the texts of its chunks are joined, calls by their `index`; every other member is the
 * last one that was said.
 */
export class ChatStream implements AnswerStream {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #itemBytes: number;
  readonly #message: Record<string, JsonValue> = {};
  readonly #calls = new Map<number, Record<string, JsonValue>>();
  readonly #choice: Record<string, JsonValue> = {};
  readonly #response: Record<string, JsonValue> = {};
  #textBytes = 0;

  /** @param itemBytes - The most that the texts of the answer may have together. */
  constructor(onDelta: (delta: StreamDelta) => void, itemBytes = Number.POSITIVE_INFINITY) {
    this.#onDelta = onDelta;
    this.#itemBytes = itemBytes;
  }

  /**
   * The completion as an answer that is not streamed would have it; null where the server has not said how it ended. What
   * follows that is its usage.
   */
  end(): JsonObject | null {
    if (typeof this.#choice["finish_reason"] !== "string") return null;
    const calls = [...this.#calls].toSorted(([left], [right]) => left - right).map(([, call]) => call);
    const message = { role: "assistant", content: null, ...this.#message };
    const called = calls.length === 0 ? message : { ...message, tool_calls: calls };
    return {
      ...usageOfGroq(this.#response),
      ...this.#response,
      choices: [{ index: 0, ...this.#choice, message: called }],
    };
  }

  get isTooLarge(): boolean {
    return this.#textBytes > this.#itemBytes;
  }

  /** What the model had said and thought of an answer that breaks off; calls are kept whole or not at all. */
  get partial(): readonly JsonObject[] {
    const said = Object.entries(this.#message).filter(([name, value]) => deltaTypes.has(name) && value !== "");
    return said.length === 0 ? [] : [{ role: "assistant", ...Object.fromEntries(said) }];
  }

  /**
   * Takes a chunk; the last one is not told from others, so that none is the answer.
   *
   * @throws {ProviderError} for one that tells an error.
   */
  take(_: string | null, chunk: JsonObject): null {
    if ((chunk["error"] ?? null) !== null) throw this.failure(chunk);
    const { choices, ...members } = chunk;
    if (isJsonObject(members["usage"])) this.#onDelta({ type: "usage", usage: tokensIn(members["usage"]) });
    for (const [name, value] of Object.entries(members))
      if (value !== undefined && value !== null)
        setMember(
          this.#response,
          name,
          name === "object" && value === "chat.completion.chunk" ? "chat.completion" : value,
        );
    for (const choice of objectsOf(choices)) {
      const { delta, index = 0, ...rest } = choice;
      // Only the first is read: a request asks for one.
      if (index !== 0) continue;
      for (const [name, value] of Object.entries(rest))
        if (value !== undefined && value !== null) setMember(this.#choice, name, value);
      if (isJsonObject(delta)) this.#takeDelta(delta);
    }
    return null;
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
      if (type === undefined) continue;
      for (const part of objectsOf(value)) this.#tellPart(part);
      this.#tell(type, 0, value);
    }
    for (const part of objectsOf(calls)) this.#takeCall(part);
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

  /** Thoughts come as parts of the content, each with texts of its own. */
  #tellPart({ type, text, thinking }: JsonObject): void {
    if (type !== "thinking") this.#tell("text-delta", 0, text);
    else for (const { text: thought } of objectsOf(thinking)) this.#tell("reasoning-delta", 0, thought);
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
  if (name === "content" && before !== undefined && (isJsonList(before) || isJsonList(value)))
    return partsOf(value).reduce(withPart, partsOf(before));
  if (isJsonList(before) && isJsonList(value)) return [...before, ...value];
  return value;
}

/** Content as parts: a server may go over from the one form to the other, as Mistral does when its model has thought. */
const partsOf = (content: JsonValue): readonly JsonObject[] =>
  typeof content === "string" ? (content === "" ? [] : [{ type: "text", text: content }]) : objectsOf(content);

/** A part that goes on with the one before it is one with it. */
function withPart(parts: readonly JsonObject[], part: JsonObject): readonly JsonObject[] {
  const last = parts.at(-1);
  const { type, text, thinking, ...more } = part;
  if (last === undefined || last["type"] !== type) return [...parts, part];
  if (typeof text === "string" && typeof last["text"] === "string")
    return [...parts.slice(0, -1), { ...last, text: last["text"] + text, ...more }];
  if (!isJsonList(thinking)) return [...parts, part];
  const thoughts = objectsOf(thinking).reduce(withPart, objectsOf(last["thinking"]));
  return [...parts.slice(0, -1), { ...last, thinking: thoughts, ...more }];
}

/** Groq tells the usage of a stream in a member of its own. */
function usageOfGroq({ x_groq: own }: JsonObject): JsonObject {
  const usage = objectOf(own)["usage"];
  return usage === undefined ? {} : { usage };
}

function joinedMembers(before: JsonValue | undefined, members: JsonObject): JsonObject {
  const all: Record<string, JsonValue> = {};
  for (const each of [objectOf(before), members])
    for (const [name, value] of Object.entries(each))
      if (value !== undefined && value !== null) setMember(all, name, joined(all[name], value, name));
  return all;
}

/**
 * Puts a streamed completion together, for `postStream`: of a server that speaks Chat Completions in a way of its own. One that comes whole
 * is taken as it is.
 */
export function chatStream(onDelta: (delta: StreamDelta) => void): StreamedAnswer {
  const stream = new ChatStream(onDelta, answerLimits().itemBytes);
  return {
    take(event, chunk) {
      if (messagesIn(chunk).length === 0) return stream.take(event, chunk);
      completionForm.tell(chunk, onDelta);
      return chunk;
    },
    end: () => stream.end(),
    get partial() {
      return stream.partial;
    },
    get isTooLarge() {
      return stream.isTooLarge;
    },
  };
}

/** A completion, as one JSON object. */
export const completionForm: AnswerForm = {
  isAnswer: ({ choices }) => isJsonList(choices),
  itemsOf: messagesIn,
  hasFailed: ({ error }) => (error ?? null) !== null,
  tell(response, onDelta) {
    const stream = new ChatStream(onDelta);
    const deltas = messagesIn(response).map(({ tool_calls: calls, ...message }) => ({
      ...{ ...message, tool_calls: objectsOf(calls).map((call, index) => ({ index, ...call })) },
    }));
    for (const delta of deltas.slice(0, 1)) stream.take(null, { choices: [{ index: 0, delta }] });
  },
};

function messagesIn({ choices }: JsonObject): readonly JsonObject[] {
  return objectsOf(choices).flatMap(({ message }) => (isJsonObject(message) ? [message] : []));
}
