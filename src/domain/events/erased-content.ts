import { jsonOpaque } from "../../base/frozen-json.ts";
import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  setMember,
  textOrEmpty,
  textOrNull,
} from "../../base/json.ts";
import { NumberLiteral } from "../../base/number-literal.ts";
import { type EventPlace, placesOf } from "./places.ts";

/** A value of an event's data that was in a line that is erased. */
export class ErasedValue {
  static readonly one = new ErasedValue();
  // Lets data hold it in place of any JSON object.
  readonly [member: string]: JsonValue | undefined;

  get [jsonOpaque](): true {
    return true;
  }
}

/** The name of a member that replaces the erased members of an object: no event has a member of this name. */
export const erasedMembers = "\u0001erased";

/** What people and models read in place of an erased text. */
export const erasedText = "[erased]";

/**
 * An event's data with stand-ins for what was erased, so that it has the form that its schema requires. Facts stay. A block keeps its id, kind,
 * name and call id; of the rest of an event, members that are not always present are left out.
 */
export function withStandIns(data: JsonObject, { type, version }: { readonly type: string; readonly version: number }) {
  const filled = fill(data, placesOf(type, version), standInsOf[type] ?? {}, "");
  return isJsonObject(filled) ? filled : data;
}

type StandIns = Readonly<Record<string, JsonValue | undefined>>;

/**
 * By event type and path, where neither the text `[erased]` nor a missing member has the form of the schema; undefined leaves the member out.
 * The other members listed here are required.
 */
const standInsOf: Readonly<Record<string, StandIns>> = {
  ConversationStarted: { title: undefined, labels: undefined, "origin.head": undefined },
  ConversationRelabelled: { title: undefined, labels: undefined },
  SettingsDeclared: { "settings.*": undefined, settings: {} },
  TurnCompacted: { "window.rest": {} },
  RunStarted: { "provider.*": undefined, "compact.summary": undefined },
  ApprovalRequested: { inputSchema: undefined },
  InferenceRequested: { requestDigest: "erased" },
  WarmUpRequested: { requestDigest: "erased" },
  ResponseStarted: { "first.rest": {}, "first.rest.*": undefined, "first.echoed": [] },
  ResponseReceived: { rest: {}, "rest.*": undefined, echo: undefined, echoed: [] },
  WarmUpAnswered: { rest: {}, "rest.*": undefined, echo: undefined, echoed: [] },
  InferenceFailed: { partial: [], param: null, body: undefined },
  WarmUpFailed: { partial: [], param: null, body: undefined },
};

function fill(value: JsonValue, place: EventPlace | null, standIns: StandIns, path: string): JsonValue {
  if (value instanceof ErasedValue) return erasedText;
  if (typeof value !== "object" || value === null || value instanceof NumberLiteral) return value;
  if (isJsonList(value)) return value.map((item) => fill(item, place?.items ?? null, standIns, `${path}[]`));
  if (place?.isLine === true && hasErased(value)) return erasedBlock(value);
  const filled: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined || name === erasedMembers) continue;
    const here = path === "" ? name : `${path}.${name}`;
    const isErased: boolean = isErasedValue(member);
    const listed = !isErased ? null : here in standIns ? here : `${path}.*` in standIns ? `${path}.*` : null;
    const left = listed === null ? fill(member, place?.members.get(name) ?? null, standIns, here) : standIns[listed];
    if (left !== undefined) setMember(filled, name, left);
  }
  if (value[erasedMembers] !== undefined) addRequired(filled, standIns, path);
  return filled;
}

/** Members that were erased with their names, and that the schema requires. */
function addRequired(filled: Record<string, JsonValue>, standIns: StandIns, path: string): void {
  for (const [listed, standIn] of Object.entries(standIns)) {
    const name = listed.slice(listed.lastIndexOf(".") + 1);
    const isHere = listed === (path === "" ? name : `${path}.${name}`);
    if (isHere && standIn !== undefined && filled[name] === undefined) setMember(filled, name, standIn);
  }
}

const isErasedValue = (value: unknown): boolean => value instanceof ErasedValue;

function hasErased(value: JsonValue): boolean {
  if (value instanceof ErasedValue) return true;
  if (typeof value !== "object" || value === null || value instanceof NumberLiteral) return false;
  if (isJsonList(value)) return value.some(hasErased);
  return Object.entries(value).some(
    ([name, member]) => name === erasedMembers || (member !== undefined && hasErased(member)),
  );
}

/** What is left of a block: what folds, pairing and contexts need. */
function erasedBlock({ id, kind, digest, payload, wire }: JsonObject): JsonObject {
  const whole = isJsonObject(payload) ? payload : {};
  const standIn = standInPayload(textOrNull(kind), whole);
  forms.set(standIn, {
    parts: typesIn([whole["content"], whole["output"]].find(isJsonList)) ?? [],
    summary: typesIn(whole["summary"]),
    isSealed: isErasedValue(objectOf(wire)["ciphertext"]),
  });
  const left = { id, kind, digest, payload: standIn };
  return isJsonObject(wire) ? { ...left, wire: factsOf(wire), erased: true } : { ...left, erased: true };
}

const typesIn = (parts: JsonValue | undefined): readonly string[] | null =>
  isJsonList(parts) ? parts.map((part) => textOrEmpty(objectOf(part)["type"])) : null;

/** What the event of an erased block still says of the content that it had. */
export type ErasedForm = {
  /** The types of the parts of its content or output; empty if that was a text, or it had none. */
  readonly parts: readonly string[];
  /** The types of the parts of its summary; null if it had no summary. */
  readonly summary: readonly string[] | null;
  /** Whether it had a ciphertext, or a signature. */
  readonly isSealed: boolean;
};

/** By the stand-in payload, because nothing that is recorded or sent has them. */
const forms = new WeakMap<JsonObject, ErasedForm>();

/** The form of a block before its content was erased, by the payload of the stand-in; a text if it is not known. */
export const erasedFormOf = (payload: JsonObject): ErasedForm => forms.get(payload) ?? plainForm;

const plainForm: ErasedForm = { parts: [], summary: ["text"], isSealed: false };

const factNames: ReadonlySet<string> = new Set(["type", "role", "phase", "callId", "name"]);

function standInPayload(kind: string | null, payload: JsonObject): JsonObject {
  const facts = factsOf(payload, (name) => factNames.has(name));
  const { type } = payload;
  switch (kind) {
    case "tool_call":
      return type === "function" || type === "custom" ? { ...facts, arguments: standInArguments(type) } : facts;
    case "tool_result":
      return { ...facts, output: erasedText };
    case "reasoning":
      return { ...facts, summary: [textPart] };
    case "other":
      return facts;
    default:
      return { ...facts, content: [textPart] };
  }
}

const textPart = { type: "text", text: erasedText } as const;

/** The arguments of a function have to be JSON. */
const standInArguments = (type: string): string => (type === "custom" ? erasedText : "{}");

/** The members of an object that are not erased. */
function factsOf(object: JsonObject, isWanted: (name: string) => boolean = () => true): JsonObject {
  const facts: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(object))
    if (member !== undefined && name !== erasedMembers && isWanted(name) && !hasErased(member))
      setMember(facts, name, member);
  return facts;
}
