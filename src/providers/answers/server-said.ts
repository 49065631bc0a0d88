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
import type { Answer, Draft } from "../../engine/ports/codec.ts";
import { unreadableCall } from "../../engine/ports/provider-error.ts";

/**
 * Readers of what a server said. They never throw, because an answer that arrives is already paid for: they mark what they cannot read, and
 * the codec keeps it as it came. Other functions, which do throw, check what callers give.
 */

/** A call in the form of the wires: a function with arguments, or a custom tool with free text as input. */
export type SaidCall = {
  readonly name: JsonValue | undefined;
  readonly arguments: JsonValue | undefined;
  readonly isCustom?: boolean;
};

/** A call as a block; null if it has no name, or arguments that no tool can take. */
export function callDraft({ name, arguments: given, isCustom = false }: SaidCall, callId: string): Draft | null {
  const text = isCustom ? inputSaid(given) : argumentsSaid(given);
  if (!isFilledText(name) || text === null) return null;
  return { kind: "tool_call", payload: { type: isCustom ? "custom" : "function", callId, name, arguments: text } };
}

/**
 * The text of a call's arguments. Servers send "no arguments" as an absent member, null or an empty text; some send an object in place of
 * the text. Null for anything else.
 */
function argumentsSaid(given: JsonValue | undefined): string | null {
  if (given === undefined || given === null) return "{}";
  if (typeof given === "string") return given.trim() === "" ? "{}" : given;
  return isJsonObject(given) ? JSON.stringify(given) : null;
}

/** The arguments of a call as an object, which some wires need; null for a text that is not a JSON object. */
export function argumentsObject(given: JsonValue | undefined): JsonObject | null {
  const value = jsonOf(argumentsSaid(given) ?? "");
  return isJsonObject(value) ? value : null;
}

/** The same for a custom tool, whose input is any text. */
function inputSaid(given: JsonValue | undefined): string | null {
  if (given === undefined || given === null) return "";
  if (typeof given === "string") return given;
  return isJsonObject(given) ? JSON.stringify(given) : null;
}

/** The calls in a member of an answer. A value that is not a list counts as one call, readable or not. */
export function callsSaid(given: JsonValue | undefined): readonly JsonValue[] {
  if (given === undefined || given === null || given === "") return [];
  return isJsonList(given) ? given.filter((call) => call !== null) : [given];
}

/**
 * The failure of a complete answer with unreadable calls; it names the first of them. Calls of an incomplete answer are not executed, and
 * the last one may be cut off.
 */
export function failureOfCalls(
  unread: readonly JsonValue[],
  { isWhole }: { readonly isWhole: boolean },
): NonNullable<Answer["failure"]> | null {
  const [first] = unread;
  if (first === undefined || !isWhole) return null;
  const text = JSON.stringify(first);
  const shown = text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
  const message = `the model called a tool without a readable name or arguments: ${shown}; the whole answer is in the log`;
  return { message, code: unreadableCall };
}

const maxShown = 200;

/**
 * The parts of a message's content as turnlog has them: a text counts as one part, also in a list of parts. A text or refusal part without
 * a text is left out.
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

/** A count of tokens. Some servers send numbers as texts; a value that is not a count is 0. */
export function countSaid(value: JsonValue | undefined): number {
  const count = typeof value === "string" || value instanceof NumberLiteral ? Number(value.toString()) : value;
  return typeof count === "number" && Number.isFinite(count) && count > 0 ? count : 0;
}

/** The part with the members that the wire requires as texts: null or absent members become empty texts. */
export function withTexts(part: JsonObject, names: readonly string[]): JsonObject {
  const silent = names.filter((name) => (part[name] ?? null) === null);
  return silent.length === 0 ? part : { ...part, ...Object.fromEntries(silent.map((name) => [name, ""])) };
}

/** Takes out a member if it is a text, and returns the rest. Any other value stays in the rest, so that it is kept as it came. */
export function takeText(
  answer: JsonObject,
  member: string,
): { readonly text: string | null; readonly others: JsonObject } {
  const { [member]: value, ...others } = answer;
  return typeof value === "string" ? { text: value, others } : { text: null, others: answer };
}

type Usage = NonNullable<Answer["usage"]>;

/** The usage of an answer, with the provider's own report of it; empty if the answer has none. */
export const usageOf = (
  reported: JsonValue | undefined,
  tokensIn: (usage: JsonValue) => Omit<Usage, "reported">,
): { readonly usage?: Usage } => (reported === undefined ? {} : { usage: { ...tokensIn(reported), reported } });

/** A block of `make-block.ts` as a draft, with its kind and payload only. */
export const plainDraft = ({ kind, payload }: Draft): Draft => ({ kind, payload });

/** The id of the call at this position of an answer. If the server gave none, it is made the same way whenever the answer is read. */
export const callIdIn = (given: JsonValue | undefined, inferenceId: string, place: number): string =>
  isFilledText(given) ? given : `call_${`${inferenceId}/${place}`.replace(/[^a-zA-Z0-9]/g, "_")}`;
