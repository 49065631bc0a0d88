import { isJsonObject, type JsonObject, type JsonValue, objectOf, omitMembers, textOrEmpty } from "../../base/json.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";
import { callStart } from "../answers/call-start.ts";

/** Assembles the parts of a stream (`LanguageModelV4StreamPart`) into the result that `doGenerate` would return. */
export class GeneratedStream {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #content: JsonObject[] = [];
  readonly #places = new Map<string, number>();
  /** The positions of the calls whose arguments are coming, by id. */
  readonly #inputs = new Map<string, number>();
  readonly #done = new Set<number>();
  #members: JsonObject = {};
  #finish: JsonObject | null = null;

  constructor(onDelta: (delta: StreamDelta) => void) {
    this.#onDelta = onDelta;
  }

  /** The whole answer; null before the end of the stream, and if it ends as interrupted. */
  get result(): JsonObject | null {
    const { finishReason } = this.#finish ?? {};
    const isCut = isJsonObject(finishReason) && finishReason["unified"] === "interrupted";
    return this.#finish === null || isCut ? null : { content: this.#content, ...this.#members, ...this.#finish };
  }

  /** The part of an interrupted answer that came: complete parts, and the texts so far. */
  get partial(): readonly JsonObject[] {
    return this.#content.filter(
      (part, index) => this.#done.has(index) || (part["type"] === "text" && part["text"] !== ""),
    );
  }

  /** Takes a part; the caller throws the error of an `error` part. */
  take(part: JsonObject): void {
    const { type, id, warnings } = part;
    const [, kind, step] = /^(text|reasoning|tool-input)-(start|delta|end)$/.exec(textOrEmpty(type)) ?? [];
    if (kind === "tool-input") this.#takeInput(textOrEmpty(id), part);
    else if (type === "tool-call") this.#takeCall(part);
    else if (kind !== undefined && step !== undefined)
      this.#takeStep(`${kind} ${textOrEmpty(id)}`, { kind, step, part });
    else if (type === "stream-start") this.#members = { ...this.#members, warnings };
    else if (type === "response-metadata") this.#takeMetadata(part);
    else if (type === "finish") this.#finish = without(part, "type");
    else if (type !== "raw" && type !== "ping") this.#finished(this.#content.push(part) - 1);
  }

  /** Takes the parts of an answer that came whole. */
  takeWhole(content: readonly JsonObject[]): void {
    for (const [index, part] of content.entries()) {
      const { type, text } = part;
      if (type === "text" || type === "reasoning") this.#tell(`${type}-delta`, index, text);
      if (type === "tool-call") this.#tellCall(index, part);
      this.#finished(this.#content.push(part) - 1);
    }
  }

  /** The arguments of a call as they come: the call itself follows as a part, at the next free position. */
  #takeInput(id: string, { type, toolName: name, delta }: JsonObject): void {
    const known = this.#inputs.get(id);
    const index = known ?? this.#content.length + this.#inputs.size;
    this.#inputs.set(id, index);
    if (type === "tool-input-start") this.#onDelta(callStart(index, { callId: id, name }));
    this.#tell("tool-call-delta", index, delta);
  }

  /** Models that do not stream arguments send the call alone. */
  #takeCall(call: JsonObject): void {
    const index = this.#content.push(call) - 1;
    if (!this.#inputs.delete(textOrEmpty(call["toolCallId"]))) this.#tellCall(index, call);
    this.#finished(index);
  }

  #tellCall(index: number, { toolCallId: callId, toolName: name, input }: JsonObject): void {
    this.#onDelta(callStart(index, { callId, name }));
    this.#tell("tool-call-delta", index, input);
  }

  #takeStep(
    name: string,
    { kind, step, part }: { readonly kind: string; readonly step: string; readonly part: JsonObject },
  ) {
    if (step === "start" || !this.#places.has(name))
      this.#places.set(name, this.#content.push({ type: kind, text: "" }) - 1);
    const index = this.#places.get(name) ?? 0;
    const { delta, providerMetadata, citations } = part;
    const before = this.#content[index] ?? {};
    this.#content[index] = {
      ...before,
      text: textOrEmpty(before["text"]) + textOrEmpty(delta),
      ...(citations === undefined ? {} : { citations }),
      ...(providerMetadata === undefined
        ? {}
        : { providerMetadata: joined(before["providerMetadata"], providerMetadata) }),
    };
    if (step === "delta") this.#tell(kind === "text" ? "text-delta" : "reasoning-delta", index, delta);
    if (step === "end") {
      this.#places.delete(name);
      this.#finished(index);
    }
  }

  #takeMetadata(part: JsonObject): void {
    const { response } = this.#members;
    this.#members = {
      ...this.#members,
      response: { ...objectOf(response), ...without(part, "type") },
    };
  }

  #finished(index: number): void {
    this.#done.add(index);
    const item = this.#content[index];
    if (item !== undefined) this.#onDelta({ type: "item-done", outputIndex: index, item });
  }

  #tell(
    type: "text-delta" | "reasoning-delta" | "tool-call-delta",
    outputIndex: number,
    text: JsonValue | undefined,
  ): void {
    if (typeof text === "string" && text !== "") this.#onDelta({ type, outputIndex, text });
  }
}

const without = (part: JsonObject, name: string): JsonObject => omitMembers(part, new Set([name]));

/** A signature comes after the text of its part, each under its provider's name. */
function joined(before: JsonValue | undefined, told: JsonValue): JsonValue {
  if (!isJsonObject(before) || !isJsonObject(told)) return told;
  const both = Object.entries(told).map(([provider, members]) => {
    const known = before[provider];
    return [provider, isJsonObject(known) && isJsonObject(members) ? { ...known, ...members } : members] as const;
  });
  return { ...before, ...Object.fromEntries(both) };
}
