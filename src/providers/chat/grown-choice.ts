import {
  definedMembers,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectsOf,
} from "../../base/json.ts";
import { GrownObject, type Pieces } from "../answers/grown-object.ts";
import { callsSaid } from "../answers/server-said.ts";
import { GrownCalls } from "./grown-calls.ts";

/** Tells listeners of a text, of the item at this place of the answer. */
export type Tell = (type: "text-delta" | "reasoning-delta" | "tool-call-delta", place: number, text: string) => void;

/** One choice of a streamed completion: what its chunks said, member by member. */
export class GrownChoice {
  readonly #members = new GrownObject({ isPiece: () => false });
  readonly #message = new GrownObject(messagePieces);
  readonly #calls = new GrownCalls();
  readonly #tell: Tell;

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  /** Whether the server has said how it ended. */
  get isFinished(): boolean {
    return typeof this.#members.member("finish_reason") === "string";
  }

  /** What the model had said and thought so far; calls are kept whole or not at all. */
  get said(): JsonObject {
    const said = Object.entries(this.#message.toObject()).filter(
      ([name, value]) => deltaTypes.has(name) && value !== "",
    );
    return Object.fromEntries(said);
  }

  /** The choice as an answer that is not streamed would have it. */
  toObject(): JsonObject {
    const calls = this.#calls.toList();
    const message = { role: "assistant", content: null, ...this.#message.toObject() };
    const called = calls.length === 0 ? message : { ...message, tool_calls: calls };
    return { index: 0, ...this.#members.toObject(), message: called };
  }

  /** A chunk has a `delta`; where a server says the whole message in the last one instead, it is the only one. */
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
    const { place } = this.#calls.take(piece);
    for (const called of [piece["function"], piece["custom"]])
      if (isJsonObject(called)) this.#speak("tool-call-delta", place + 1, called["arguments"] ?? called["input"]);
  }

  /** Thoughts come as parts of the content, each with texts of its own. */
  #tellPart({ type, text, thinking }: JsonObject): void {
    if (type !== "thinking") this.#speak("text-delta", 0, text);
    else for (const { text: thought } of objectsOf(thinking)) this.#speak("reasoning-delta", 0, thought);
  }

  #speak(type: Parameters<Tell>[0], place: number, said: JsonValue | undefined): void {
    const text = isJsonObject(said) ? JSON.stringify(said) : said;
    if (typeof text === "string" && text !== "") this.#tell(type, place, text);
  }
}

const deltaTypes: ReadonlyMap<string, "text-delta" | "reasoning-delta"> = new Map([
  ["content", "text-delta"],
  ["refusal", "text-delta"],
  ["reasoning_content", "reasoning-delta"],
  ["reasoning", "reasoning-delta"],
]);

/** What a message says in texts comes in pieces, whatever a server calls it; what names something is said whole, if again. */
const messagePieces: Pieces = {
  isPiece: (name) => !wholeNames.has(name),
  within: { isPiece: (name) => pieceNames.has(name) },
};
const wholeNames: ReadonlySet<string> = new Set(["role", "name", "id", "type", "object", "model", "phase", "channel"]);
const pieceNames: ReadonlySet<string> = new Set([
  ...["arguments", "input", "text", "content", "thinking", "summary"],
  // Of a model that speaks aloud.
  ...["transcript", "data"],
]);

/** Content as parts: a server may go over from the one form to the other, as Mistral does when its model has thought. */
const partsOf = (content: JsonValue): readonly JsonObject[] =>
  typeof content === "string" ? (content === "" ? [] : [{ type: "text", text: content }]) : objectsOf(content);

/** A part that goes on with the one before it is one with it: of the same type, and of the same index where they have one. */
function withPart(parts: readonly JsonObject[], part: JsonObject): readonly JsonObject[] {
  const last = parts.at(-1);
  const grown =
    last === undefined || last["type"] !== part["type"] || last["index"] !== part["index"] ? null : goneOn(last, part);
  return grown === null ? [...parts, part] : [...parts.slice(0, -1), grown];
}

/** Null where the part says something of its own. A signature comes by itself, behind the text that it is of. */
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
