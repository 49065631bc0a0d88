import { isJsonList, isJsonObject, type JsonObject, type JsonValue, objectOf, setMember } from "../../base/json.ts";
import { utf8Length } from "../../base/utf8.ts";
import type { ItemStart, StreamDelta } from "../../engine/ports/provider.ts";
import type { ProviderError } from "../../engine/ports/provider-error.ts";
import type { AnswerForm, AnswerStream } from "../answers/answer-form.ts";
import { callStart } from "../answers/call-start.ts";
import { grownValue } from "../answers/grown-object.ts";
import { type OpenItem, StreamedItems } from "../answers/streamed-items.ts";
import { withPartial } from "../failures/classify-error.ts";
import { inputOf } from "./content-blocks.ts";
import { messagesError } from "./errors.ts";
import { tokensIn, withText } from "./messages-answer.ts";

/** Assembles a streamed message (Anthropic's API reference), equal to one that comes whole. */
export class MessageStream implements AnswerStream {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #message: Record<string, JsonValue> = {};
  readonly #blocks: StreamedItems;

  /** @param itemBytes - The limit for the text of a block that is not complete. */
  constructor(onDelta: (delta: StreamDelta) => void, itemBytes = Number.POSITIVE_INFINITY) {
    this.#onDelta = onDelta;
    this.#blocks = new StreamedItems(onDelta, itemBytes, complete);
  }

  get isTooLarge(): boolean {
    return this.#blocks.isTooLarge;
  }

  /** The complete blocks, and the text so far of an incomplete one. */
  get partial(): readonly JsonObject[] {
    return this.#blocks.partial(({ type, text }) =>
      type === "text" && text !== undefined && text !== "" ? { type, text } : null,
    );
  }

  /**
   * Takes an event; returns the message after the last one, and null before.
   *
   * @throws {ProviderError} for an error event.
   */
  take(name: string | null, event: JsonObject): JsonObject | null {
    const { type = name, index: given, message, content_block: content, delta, usage } = event;
    const index = typeof given === "number" ? given : 0;
    switch (type) {
      case "error":
        throw this.#failure(event);
      case "message_start":
        if (!isJsonObject(message)) break;
        this.#set(message);
        // The input is counted here: a stream that is cut off has nothing else of it.
        if (isJsonObject(message["usage"])) this.#count({});
        break;
      case "content_block_start":
        if (isJsonObject(content)) this.#begin(index, content);
        break;
      case "content_block_delta":
        if (isJsonObject(delta)) this.#grow(index, delta);
        break;
      case "content_block_stop":
        this.#blocks.finish(index);
        break;
      case "message_delta":
        this.#set({ ...restOf(event), ...(isJsonObject(delta) ? delta : {}) });
        if (isJsonObject(usage)) this.#count(usage);
        break;
      case "message_stop":
        return { ...this.#message, content: this.#blocks.finishAll() };
      case null:
        // Proxies send errors without the type of an error event.
        if (isJsonObject(event["error"])) throw this.#failure(event);
        break;
      default:
    }
    return null;
  }

  #failure(event: JsonObject): ProviderError {
    const error = messagesError({ body: event });
    return this.partial.length === 0 ? error : withPartial(error, this.partial);
  }

  #set(members: JsonObject): void {
    for (const [name, value] of Object.entries(members)) if (value !== undefined) setMember(this.#message, name, value);
  }

  /** The counts are totals so far; members that only the first event has are kept. */
  #count(usage: JsonObject): void {
    const all = countsOf(this.#message["usage"], usage);
    setMember(this.#message, "usage", all);
    this.#onDelta({ type: "usage", usage: tokensIn(all), reported: all });
  }

  #grow(index: number, { type, citation, partial_json: json, ...members }: JsonObject): void {
    const open = this.#blocks.at(index) ?? this.#begun(index, type);
    if (open === undefined) return;
    if (typeof json === "string") {
      open.json += json;
      this.#tell(open, json);
    }
    if (citation !== undefined) {
      const before = open.item["citations"];
      setMember(open.item, "citations", [...(isJsonList(before) ? before : []), citation]);
    }
    for (const [name, value] of Object.entries(members)) {
      if (value === undefined) continue;
      const before = open.item[name];
      const isText = typeof value === "string" && typeof before === "string";
      setMember(open.item, name, isText ? before + value : grownValue(before, value));
      if (typeof value === "string" && name !== "signature") this.#tell(open, value);
    }
  }

  /** Some servers begin a block with its first delta. */
  #begun(index: number, type: JsonValue | undefined): OpenItem | undefined {
    const begun = typeof type === "string" ? begunBy.get(type) : undefined;
    return begun === undefined ? undefined : this.#begin(index, begun);
  }

  #begin(index: number, content: JsonObject): OpenItem {
    const open = this.#blocks.begin(index, content);
    for (const start of startOf(open.item, open.place)) this.#onDelta(start);
    return open;
  }

  #tell(open: OpenItem, text: string): void {
    this.#blocks.grow(open, utf8Length(text));
    const type = deltaType(open.item);
    if (type !== undefined && text !== "") this.#onDelta({ type, outputIndex: open.place, text });
  }
}

/** The newest counts; null and 0 do not replace an earlier count. */
function countsOf(before: JsonValue | undefined, now: JsonObject): JsonObject {
  const known = objectOf(before);
  const counts: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries({ ...known, ...now })) {
    const earlier = known[name];
    if (value === undefined) continue;
    if (isJsonObject(value)) setMember(counts, name, countsOf(earlier, value));
    else setMember(counts, name, (value === null || value === 0) && earlier !== undefined ? earlier : value);
  }
  return counts;
}

/** A block as a message that came whole has it. */
function complete({ item, json }: OpenItem): JsonObject {
  if (json === "") return item;
  const called = { ...item, input: inputOf(json) };
  return item["type"] === "tool_use" ? withText(called, json) : called;
}

/** The block that begins with a delta of this type. */
const begunBy: ReadonlyMap<string, JsonObject> = new Map([
  ["text_delta", { type: "text", text: "" }],
  ["thinking_delta", { type: "thinking", thinking: "" }],
  ["input_json_delta", { type: "tool_use", input: {} }],
]);

const deltaTypes: ReadonlyMap<string, "text-delta" | "reasoning-delta" | "tool-call-delta"> = new Map([
  ["text", "text-delta"],
  ["thinking", "reasoning-delta"],
  ["tool_use", "tool-call-delta"],
  ["server_tool_use", "tool-call-delta"],
  ["mcp_tool_use", "tool-call-delta"],
]);

const deltaType = ({ type }: JsonObject) => (typeof type === "string" ? deltaTypes.get(type) : undefined);

const startOf = (item: JsonObject, place: number): readonly ItemStart[] =>
  deltaType(item) === "tool-call-delta" ? [callStart(place, { callId: item["id"], name: item["name"] })] : [];

/** The members of an event besides its type and its counts. */
const restOf = ({ type: _, delta: __, usage: ___, ...rest }: JsonObject): JsonObject => rest;

const contentsIn = ({ content }: JsonObject): readonly JsonObject[] =>
  isJsonList(content) ? content.filter(isJsonObject) : [];

/** How messages of the model look as answers. */
export const messageForm: AnswerForm = {
  isAnswer: ({ content }) => isJsonList(content),
  itemsOf: contentsIn,
  hasFailed: () => false,
  tell(message, onDelta) {
    for (const [outputIndex, item] of contentsIn(message).entries()) {
      const type = deltaType(item);
      const { text, thinking, input } = item;
      const said = text ?? thinking ?? (input === undefined ? "" : JSON.stringify(input));
      for (const start of startOf(item, outputIndex)) onDelta(start);
      if (type !== undefined && typeof said === "string" && said !== "") onDelta({ type, outputIndex, text: said });
      onDelta({ type: "item-done", outputIndex, item });
    }
  },
};
