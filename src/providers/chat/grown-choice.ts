import {
  definedMembers,
  isFilledText,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonOf,
  objectsOf,
} from "../../base/json.ts";
import type { ItemStart, TextDelta } from "../../engine/ports/provider.ts";
import { callStart } from "../answers/call-start.ts";
import { GrownObject, type Pieces } from "../answers/grown-object.ts";
import { callsSaid } from "../answers/server-said.ts";

/** Passes on the beginning of a call, or a piece of a text. */
export type Tell = (delta: ItemStart | TextDelta) => void;

/** One choice of a streamed completion, assembled member by member. */
export class GrownChoice {
  readonly #members = new GrownObject({ isPiece: () => false });
  readonly #message = new GrownObject(messagePieces);
  readonly #calls = new GrownCalls();
  readonly #tell: Tell;
  /** The positions of the calls whose names were passed on. */
  readonly #begun = new Set<number>();

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  /** Whether the server has said how it ended. */
  get isFinished(): boolean {
    return typeof this.#members.member("finish_reason") === "string";
  }

  /** The model's text and reasoning so far; calls are kept only when complete. */
  get said(): JsonObject {
    const said = Object.entries(this.#message.toObject()).filter(
      ([name, value]) => deltaTypes.has(name) && value !== "",
    );
    return Object.fromEntries(said);
  }

  /** The choice as it would be without streaming. */
  toObject(): JsonObject {
    const calls = this.#calls.toList();
    const message = { role: "assistant", content: null, ...this.#message.toObject() };
    const called = calls.length === 0 ? message : { ...message, tool_calls: calls };
    return { index: 0, ...this.#members.toObject(), message: called };
  }

  /** A chunk has a `delta`. Some servers send the whole message in the last chunk instead; it counts only if no delta came before. */
  take({ delta, message, ...members }: JsonObject): void {
    this.#members.take(members);
    const said = isJsonObject(delta) ? delta : this.#message.size === 0 ? message : undefined;
    if (isJsonObject(said)) this.#takeDelta(said);
  }

  #takeDelta({ tool_calls: calls, ...members }: JsonObject): void {
    for (const [name, value] of Object.entries(members)) {
      if (value === undefined || value === null) continue;
      this.#grow(name, value);
      const type = deltaTypes.get(name);
      if (type === undefined) continue;
      for (const part of objectsOf(value)) this.#tellPart(part);
      this.#speak(type, 0, value);
    }
    for (const piece of callsSaid(calls)) if (isJsonObject(piece)) this.#takeCall(piece);
  }

  #grow(name: string, value: JsonValue): void {
    const before = this.#message.member(name);
    const isParts = name === "content" && (isJsonList(value) || isJsonList(before));
    if (isParts || name === "reasoning_details")
      this.#message.set(name, partsOf(value).reduce(withPart, partsOf(before ?? "")));
    else this.#message.take({ [name]: value });
  }

  #takeCall(piece: JsonObject): void {
    const grown = this.#calls.take(piece);
    const { call, place } = grown;
    const name = nameOf(grown);
    if (isFilledText(name) && !this.#begun.has(place)) {
      this.#begun.add(place);
      this.#tell(callStart(place + 1, { callId: call.member("id"), name }));
    }
    for (const called of [piece["function"], piece["custom"]])
      if (isJsonObject(called)) this.#speak("tool-call-delta", place + 1, called["arguments"] ?? called["input"]);
  }

  /** Reasoning comes as parts of the content, each with its own texts. */
  #tellPart({ type, text, thinking }: JsonObject): void {
    if (type !== "thinking") this.#speak("text-delta", 0, text);
    else for (const { text: thought } of objectsOf(thinking)) this.#speak("reasoning-delta", 0, thought);
  }

  #speak(type: TextDelta["type"], place: number, said: JsonValue | undefined): void {
    const text = isJsonObject(said) ? JSON.stringify(said) : said;
    if (typeof text === "string" && text !== "") this.#tell({ type, outputIndex: place, text });
  }
}

const deltaTypes: ReadonlyMap<string, "text-delta" | "reasoning-delta"> = new Map([
  ["content", "text-delta"],
  ["refusal", "text-delta"],
  ["reasoning_content", "reasoning-delta"],
  ["reasoning", "reasoning-delta"],
]);

/** Texts of a message come in pieces, whatever their name on this server; repeated names and ids are complete. */
const messagePieces: Pieces = {
  isPiece: (name) => !wholeNames.has(name),
  within: { isPiece: (name) => pieceNames.has(name) },
};
const wholeNames: ReadonlySet<string> = new Set(["role", "name", "id", "type", "object", "model", "phase", "channel"]);
const pieceNames: ReadonlySet<string> = new Set([
  ...["arguments", "input", "text", "content", "thinking", "summary"],
  // Members of audio output.
  ...["transcript", "data"],
]);

/** Content as parts: a server may change from a text to parts, as Mistral does after reasoning. */
const partsOf = (content: JsonValue): readonly JsonObject[] =>
  typeof content === "string" ? (content === "" ? [] : [{ type: "text", text: content }]) : objectsOf(content);

/** Joins a part with the one before if it continues that: same type, and same index if both have one. */
function withPart(parts: readonly JsonObject[], part: JsonObject): readonly JsonObject[] {
  const last = parts.at(-1);
  const grown =
    last === undefined || last["type"] !== part["type"] || last["index"] !== part["index"] ? null : goneOn(last, part);
  return grown === null ? [...parts, part] : [...parts.slice(0, -1), grown];
}

/** Null if the part does not continue the last one. A signature comes separately, after its text. */
function goneOn(last: JsonObject, { text, summary, thinking, ...more }: JsonObject): JsonObject | null {
  const rest = {
    ...last,
    ...definedMembers(Object.fromEntries(Object.entries(more).filter(([, value]) => value !== null))),
  };
  if (isJsonList(thinking))
    return { ...rest, thinking: objectsOf(thinking).reduce(withPart, objectsOf(last["thinking"])) };
  const [name, said] = typeof last["text"] === "string" ? (["text", text] as const) : (["summary", summary] as const);
  const before = last[name];
  if (typeof before !== "string") return null;
  if (typeof said === "string") return { ...rest, [name]: before + said };
  return (said ?? null) === null ? rest : null;
}

/** A call as assembled so far. */
type GrownCall = { readonly call: GrownObject; readonly place: number };

/** A repeated id, name or type is complete; arguments and input come in pieces. */
const pieces: Pieces = { isPiece: (name) => name === "arguments" || name === "input" };

/**
 * The calls of a streamed message. A piece names its call by `index`, by id, or not at all. A new id at a known index is a new call,
 * because some servers send `index: 0` for all of them. A piece without an id belongs to the last call of its index; without either, to the
 * last call.
 */
class GrownCalls {
  readonly #calls: GrownCall[] = [];
  readonly #lastByIndex = new Map<number, GrownCall>();

  /** The calls in order. */
  toList(): readonly JsonObject[] {
    return this.#calls.toSorted((left, right) => left.place - right.place).map(({ call }) => call.toObject());
  }

  /** Takes a piece; returns the call that it belongs to. */
  take({ index: given, ...piece }: JsonObject): GrownCall {
    const index = indexOf(given);
    const known = index === null ? this.#calls.at(-1) : this.#lastByIndex.get(index);
    const call =
      this.#knownById(piece, index) ?? (known !== undefined && goesOn(known.call, piece) ? known : this.#begin(index));
    if (index !== null) this.#lastByIndex.set(index, call);
    call.call.take(piece);
    return call;
  }

  /** Servers that omit the index may send the id with every piece. */
  #knownById({ id }: JsonObject, index: number | null): GrownCall | undefined {
    if (index !== null || !isFilledText(id)) return undefined;
    return this.#calls.find(({ call }) => call.member("id") === id);
  }

  #begin(index: number | null): GrownCall {
    const isFree = index !== null && this.#calls.every(({ place }) => place !== index);
    const next = this.#calls.reduce((most, { place }) => Math.max(most, place + 1), 0);
    const call = { call: new GrownObject(pieces), place: isFree ? index : next };
    this.#calls.push(call);
    return call;
  }
}

/** Whether a piece continues a call. Without an id, a piece that names a function begins a new call if the previous one is complete. */
function goesOn(call: GrownObject, { id, function: called, custom }: JsonObject): boolean {
  const before = call.member("id");
  if (isFilledText(id)) return !isFilledText(before) || before === id;
  const name = nameIn(called ?? custom);
  const own = calledIn(call);
  if (!isFilledText(name) || nameIn(own) === undefined) return true;
  return nameIn(own) === name && !isWhole(own);
}

const calledIn = (call: GrownObject): JsonValue | undefined => call.member("function") ?? call.member("custom");

/** The name of the tool that is called, once it is known. */
const nameOf = ({ call }: GrownCall): JsonValue | undefined => nameIn(calledIn(call));

const nameIn = (called: JsonValue | undefined): JsonValue | undefined =>
  isJsonObject(called) ? called["name"] : undefined;

function isWhole(called: JsonValue | undefined): boolean {
  const given = isJsonObject(called) ? called["arguments"] : undefined;
  return isJsonObject(given) || (typeof given === "string" && isJsonObject(jsonOf(given)));
}

/** Some servers send numbers as texts. */
function indexOf(given: JsonValue | undefined): number | null {
  const index = isFilledText(given) ? Number(given) : given;
  return typeof index === "number" && Number.isSafeInteger(index) && index >= 0 ? index : null;
}
