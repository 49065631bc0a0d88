import {
  isFilledText,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonOf,
  textOrEmpty,
} from "../../base/json.ts";
import { NumberLiteral } from "../../base/number-literal.ts";
import { ownPart } from "../../domain/message-content.ts";
import type { Answer, Draft } from "../../engine/stack/codec.ts";
import { unreadableCall } from "../../engine/stack/provider.ts";

/**
 * Readers of what a server said. An answer is paid for when it is read, so they never throw: what they cannot read they say so of, and its codec
 * keeps it as it came. What callers give is checked by other functions, which do throw.
 */

/** A call as the wires say it: a function with arguments, or a custom tool with an input of free text. */
export type SaidCall = {
  readonly name: JsonValue | undefined;
  readonly arguments: JsonValue | undefined;
  readonly isCustom?: boolean;
};

/** A call as a block; null for one without a name, or with arguments that no tool could be given. */
export function callDraft({ name, arguments: given, isCustom = false }: SaidCall, callId: string): Draft | null {
  const text = isCustom ? inputSaid(given) : argumentsSaid(given);
  if (!isFilledText(name) || text === null) return null;
  return { kind: "tool_call", payload: { type: isCustom ? "custom" : "function", callId, name, arguments: text } };
}

/**
 * The text of a call's arguments. Servers say "no arguments" as nothing, as null and as a text of nothing; some give the object where
 * the wire has its text. Null for what is neither.
 */
function argumentsSaid(given: JsonValue | undefined): string | null {
  if (given === undefined || given === null) return "{}";
  if (typeof given === "string") return given.trim() === "" ? "{}" : given;
  return isJsonObject(given) ? JSON.stringify(given) : null;
}

/** The arguments of a call as the object that some wires have; null for a text that spells none. */
export function argumentsObject(given: JsonValue | undefined): JsonObject | null {
  const value = jsonOf(argumentsSaid(given) ?? "");
  return isJsonObject(value) ? value : null;
}

/** The same of a custom tool, whose input is any text. */
function inputSaid(given: JsonValue | undefined): string | null {
  if (given === undefined || given === null) return "";
  if (typeof given === "string") return given;
  return isJsonObject(given) ? JSON.stringify(given) : null;
}

/** The calls in a member of an answer; one that is no list is one call, or what cannot be read as one. */
export function callsSaid(given: JsonValue | undefined): readonly JsonValue[] {
  if (given === undefined || given === null || given === "") return [];
  return isJsonList(given) ? given.filter((call) => call !== null) : [given];
}

/**
 * What an answer is that is whole, and has calls that cannot be read: a failure that names the first of them. Of one that was cut short no call is
 * executed, and the last one may have come in part.
 */
export function failureOfCalls(
  unread: readonly JsonValue[],
  { isWhole }: { readonly isWhole: boolean },
): NonNullable<Answer["failure"]> | null {
  const [first] = unread;
  if (first === undefined || !isWhole) return null;
  const text = JSON.stringify(first);
  const shown = text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
  const message = `the model called a tool, and the call has no name or arguments that can be read: ${shown}; the whole answer is in the log`;
  return { message, code: unreadableCall };
}

const maxShown = 200;

/**
 * The parts of a message's content, in our words: a text is one part, also where it stands among parts. A part that has to be a text and is
 * none is left out.
 */
export function partsSaid(content: JsonValue | undefined): readonly JsonObject[] {
  const given: readonly JsonValue[] = isJsonList(content) ? content : content === undefined ? [] : [content];
  return given.flatMap((part) => {
    if (typeof part === "string") return part === "" ? [] : [{ type: "text", text: part }];
    if (!isJsonObject(part)) return [];
    const own = ownPart(
      part["type"] === undefined && isFilledText(part["text"]) ? "text" : textOrEmpty(part["type"]),
      part,
    );
    const isSilent = wordy.has(own.type) && typeof own[own.type] !== "string";
    return isSilent || own.type === "" ? [] : [own];
  });
}

const wordy: ReadonlySet<string> = new Set(["text", "refusal"]);

/** A count of tokens. Some servers say numbers as texts; what is no count is 0. */
export function countSaid(value: JsonValue | undefined): number {
  const count = typeof value === "string" || value instanceof NumberLiteral ? Number(value.toString()) : value;
  return typeof count === "number" && Number.isFinite(count) && count > 0 ? count : 0;
}

/** The members of a part that the wire has as texts, as texts: one that is null or absent says nothing. */
export function withTexts(part: JsonObject, names: readonly string[]): JsonObject {
  const silent = names.filter((name) => (part[name] ?? null) === null);
  return silent.length === 0 ? part : { ...part, ...Object.fromEntries(silent.map((name) => [name, ""])) };
}

/** A member that is a text, and the others; one that is anything else stays among them, so that it is kept as it came. */
export function takeText(
  answer: JsonObject,
  member: string,
): { readonly text: string | null; readonly others: JsonObject } {
  const { [member]: value, ...others } = answer;
  return typeof value === "string" ? { text: value, others } : { text: null, others: answer };
}

type Usage = NonNullable<Answer["usage"]>;

/** What an answer says that it has cost, beside the words in which it was reported; nothing where it says none. */
export const usageOf = (
  reported: JsonValue | undefined,
  tokensIn: (usage: JsonValue) => Omit<Usage, "reported">,
): { readonly usage?: Usage } => (reported === undefined ? {} : { usage: { ...tokensIn(reported), reported } });

/** A block of `make-block.ts` as a draft: what it says, and nothing of where it stands. */
export const plainDraft = ({ kind, payload }: Draft): Draft => ({ kind, payload });

/** The id of the call at this place of an answer. One that the server gave none gets one, the same whenever the answer is read. */
export const callIdIn = (given: JsonValue | undefined, inferenceId: string, place: number): string =>
  isFilledText(given) ? given : `call_${`${inferenceId}/${place}`.replace(/[^a-zA-Z0-9]/g, "_")}`;
