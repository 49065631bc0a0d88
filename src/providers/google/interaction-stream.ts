import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonOf,
  objectsOf,
  setMember,
} from "../../base/json.ts";
import { utf8Length } from "../../base/utf8.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";
import type { ProviderError } from "../../engine/ports/provider-error.ts";
import type { AnswerStream } from "../answers/answer-form.ts";
import { callStart } from "../answers/call-start.ts";
import { grownValue } from "../answers/grown-object.ts";
import { type OpenItem, StreamedItems } from "../answers/streamed-items.ts";
import { providerError, withPartial } from "../failures/classify-error.ts";
import { tokensIn } from "./interaction-answer.ts";

/** Assembles a streamed interaction (Google's guide to streaming interactions), equal to one that comes whole. */
export class InteractionStream implements AnswerStream {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #interaction: Record<string, JsonValue> = {};
  readonly #steps: StreamedItems;

  /** @param itemBytes - The limit for a step that is not complete. */
  constructor(onDelta: (delta: StreamDelta) => void, itemBytes = Number.POSITIVE_INFINITY) {
    this.#onDelta = onDelta;
    this.#steps = new StreamedItems(onDelta, itemBytes, complete);
  }

  get isTooLarge(): boolean {
    return this.#steps.isTooLarge;
  }

  /** The complete steps, and what an incomplete one has said so far. */
  get partial(): readonly JsonObject[] {
    return this.#steps.partial((step) =>
      step["type"] === "model_output" && isJsonList(step["content"]) ? step : null,
    );
  }

  /**
   * Takes an event; returns the interaction after the last one, and null before.
   *
   * @throws {ProviderError} for an error event.
   */
  take(name: string | null, event: JsonObject): JsonObject | null {
    const { event_type: type = name, index: given, interaction, step, delta, status } = event;
    const index = typeof given === "number" ? given : 0;
    switch (type) {
      case "error":
        throw this.#failure(event);
      case "interaction.created":
        if (isJsonObject(interaction)) this.#set(interaction);
        break;
      case "interaction.status_update":
        if (status !== undefined) this.#set({ status });
        break;
      case "step.start":
        if (isJsonObject(step)) this.#begin(index, step);
        break;
      case "step.delta":
        if (isJsonObject(delta)) this.#grow(index, delta);
        break;
      case "step.stop":
        this.#steps.finish(index);
        break;
      case "interaction.completed":
        return this.#complete(isJsonObject(interaction) ? interaction : {});
      case null:
        // Proxies send errors without the type of an error event.
        if (isJsonObject(event["error"])) throw this.#failure(event);
        break;
      default:
    }
    return null;
  }

  #failure({ error = null }: JsonObject): ProviderError {
    const thrown = providerError({ body: { error } });
    return this.partial.length === 0 ? thrown : withPartial(thrown, this.partial);
  }

  #complete(interaction: JsonObject): JsonObject {
    const steps = this.#steps.finishAll();
    this.#set(interaction);
    if (isJsonObject(interaction["usage"])) this.#onDelta({ type: "usage", usage: tokensIn(interaction["usage"]) });
    return { ...this.#interaction, steps };
  }

  /** The interaction in an event may lack its steps, which have come already. */
  #set({ steps: _, ...members }: JsonObject): void {
    for (const [name, value] of Object.entries(members))
      if (value !== undefined) setMember(this.#interaction, name, value);
  }

  /** A step may begin with part of its content. */
  #begin(index: number, given: JsonObject): void {
    const open = this.#steps.begin(index, given);
    this.#steps.grow(open, utf8Length(JSON.stringify(open.item)));
    const { type, id: callId, name } = open.item;
    if (type === "function_call") this.#onDelta(callStart(open.place, { callId, name }));
    for (const [member, delta] of saying)
      for (const part of objectsOf(open.item[member])) {
        const { text } = part;
        if (typeof text === "string" && text !== "") this.#onDelta({ type: delta, outputIndex: open.place, text });
      }
  }

  #grow(index: number, { type, ...members }: JsonObject): void {
    const open = this.#steps.at(index);
    if (open === undefined) return;
    this.#steps.grow(open, utf8Length(JSON.stringify(members)));
    const { arguments: json, content, signature } = members;
    if (type === "arguments_delta") {
      if (typeof json !== "string") return;
      open.json += json;
      if (json !== "") this.#onDelta({ type: "tool-call-delta", outputIndex: open.place, text: json });
    } else if (type === "thought_signature") {
      const { signature: before = "" } = open.item;
      if (typeof signature === "string")
        open.item["signature"] = `${typeof before === "string" ? before : ""}${signature}`;
    } else if (type === "thought_summary") {
      if (isJsonObject(content)) this.#say(open, "summary", content, open.place);
    } else if (type === "text_annotation_delta") {
      annotate(open.item, members);
    } else if (open.item["type"] === "model_output") {
      this.#say(open, "content", { type: type ?? "", ...members }, open.place);
    } else {
      // The data of Google's tools come as members of their step.
      for (const [name, value] of Object.entries(members))
        if (value !== undefined) setMember(open.item, name, grownValue(open.item[name], value));
    }
  }

  /** Appends a text to the one before it. */
  #say(open: OpenItem, member: "content" | "summary", part: JsonObject, outputIndex: number): void {
    const before = objectsOf(open.item[member]);
    const last = before.at(-1);
    const { text } = part;
    const said = last?.["type"] === "text" && part["type"] === "text" ? last["text"] : undefined;
    open.item[member] =
      typeof said === "string" && typeof text === "string"
        ? [...before.slice(0, -1), { ...last, text: said + text }]
        : [...before, part];
    const type = member === "content" ? "text-delta" : "reasoning-delta";
    if (typeof text === "string" && text !== "") this.#onDelta({ type, outputIndex, text });
  }
}

/** A step as an interaction that came whole has it. Arguments that are not JSON are kept as text, and the call is not executed. */
const complete = ({ item, json }: OpenItem): JsonObject =>
  json === "" ? item : { ...item, arguments: jsonOf(json) ?? json };

const saying = [
  ["content", "text-delta"],
  ["summary", "reasoning-delta"],
] as const;

/** Annotations belong to the newest text. */
function annotate(step: Record<string, JsonValue>, { annotations }: JsonObject): void {
  const content = objectsOf(step["content"]);
  const last = content.at(-1);
  if (last === undefined || !isJsonList(annotations)) return;
  step["content"] = [
    ...content.slice(0, -1),
    { ...last, annotations: [...objectsOf(last["annotations"]), ...annotations] },
  ];
}
