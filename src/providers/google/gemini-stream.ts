import { isJsonObject, type JsonObject, type JsonValue, listOf, objectsOf, setMember } from "../../base/json.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";
import { callStart } from "../answers/call-start.ts";
import { GrownObject } from "../answers/grown-object.ts";
import { countSaid } from "../answers/server-said.ts";
import { failureIn, tokensIn } from "./gemini-answer.ts";
import { partsIn } from "./gemini-parts.ts";

/**
 * Assembles a streamed response of generateContent from its chunks. Adjacent texts are joined if neither is signed and both or neither are
 * thoughts. Members of a candidate grow; other members are replaced by the newest value (Google's reference of `streamGenerateContent`).
 */
export class GeminiStream {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #response: Record<string, JsonValue> = {};
  readonly #candidates = new Map<number, Candidate>();
  #textLength = 0;

  constructor(onDelta: (delta: StreamDelta) => void) {
    this.#onDelta = onDelta;
  }

  /** Whether the server has said how the answer ended: nothing else marks the end of a stream. */
  get isFinished(): boolean {
    const first = this.#candidates.get(0);
    return typeof first?.members.member("finishReason") === "string" || failureIn(this.#response) !== null;
  }

  /** The number of characters in the longest text so far. */
  get textLength(): number {
    return this.#textLength;
  }

  /** The response as it would be without streaming. */
  get response(): JsonObject {
    if (this.#candidates.size === 0) return this.#response;
    const inOrder = [...this.#candidates].toSorted(([left], [right]) => left - right);
    const candidates = inOrder.map(([, { members, role, parts }]) => ({
      content: { parts, ...role },
      ...members.toObject(),
    }));
    return { candidates, ...this.#response };
  }

  /** The parts so far of an answer that is cut off; a call always comes whole. */
  get partial(): readonly JsonObject[] {
    return this.#candidates.get(0)?.parts ?? [];
  }

  /** Takes a chunk. */
  take({ candidates, ...members }: JsonObject): void {
    for (const [name, value] of Object.entries(members))
      if (value !== undefined) setMember(this.#response, name, value);
    for (const candidate of objectsOf(candidates)) {
      const { index } = candidate;
      this.#takeCandidate(countSaid(index), candidate);
    }
    const { usageMetadata: usage } = members;
    if (usage !== undefined) this.#onDelta({ type: "usage", usage: tokensIn(usage), reported: usage });
  }

  #takeCandidate(index: number, { content, ...members }: JsonObject): void {
    const candidate = this.#candidates.get(index) ?? { members: new GrownObject(saidAgain), role: {}, parts: [] };
    this.#candidates.set(index, candidate);
    candidate.members.take(members);
    if (!isJsonObject(content)) return;
    const { parts, ...role } = content;
    Object.assign(candidate.role, role);
    for (const part of objectsOf(parts)) this.#takePart(part, index, candidate.parts);
  }

  #takePart(part: JsonObject, index: number, parts: JsonObject[]): void {
    const last = parts.at(-1);
    const text = textOf(part);
    const before = last === undefined ? null : textOf(last);
    const goesOn = text !== null && before !== null && last?.["thought"] === part["thought"];
    // Servers may stream an empty text between two parts.
    if (text === "" && !goesOn) return;
    if (goesOn) parts[parts.length - 1] = { ...part, text: before + text };
    else parts.push(part);
    if (index === 0) this.#tell(part, parts);
  }

  #tell(part: JsonObject, parts: readonly JsonObject[]): void {
    const outputIndex = parts.length - 1;
    const whole = parts[outputIndex]?.["text"];
    this.#textLength = Math.max(this.#textLength, typeof whole === "string" ? whole.length : 0);
    for (const delta of deltasOf(part, outputIndex)) this.#onDelta(delta);
  }
}

type Candidate = {
  readonly members: GrownObject;
  readonly role: Record<string, JsonValue>;
  readonly parts: JsonObject[];
};

/** The text of a part with no other member; a signed text is not joined. */
function textOf({ text, thought: _, ...others }: JsonObject): string | null {
  return typeof text === "string" && Object.keys(others).length === 0 ? text : null;
}

/** A repeated text of a candidate's other members is complete and replaces the one before. */
const saidAgain = { isPiece: () => false };

/** Passes on an answer that came whole, part by part. */
export function tellParts({ candidates }: JsonObject, onDelta: (delta: StreamDelta) => void): void {
  const [candidate] = listOf(candidates);
  for (const [place, part] of partsIn(candidate).entries()) for (const delta of deltasOf(part, place)) onDelta(delta);
}

function deltasOf(part: JsonObject, outputIndex: number): readonly StreamDelta[] {
  const { text, thought, functionCall: call } = part;
  const done = { type: "item-done", outputIndex, item: part } as const;
  if (isJsonObject(call))
    return [
      callStart(outputIndex, { callId: call["id"], name: call["name"] }),
      { type: "tool-call-delta", outputIndex, text: JSON.stringify(call["args"] ?? {}) },
      done,
    ];
  if (typeof text !== "string") return [done];
  return text === "" ? [] : [{ type: thought === true ? "reasoning-delta" : "text-delta", outputIndex, text }];
}
