import { canonicalJson } from "../../base/canonical-json.ts";
import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  objectsOf,
  setMember,
  textOrNull,
} from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { Withheld } from "../../domain/events/inference-events.ts";
import type { Counts } from "../../domain/events/shared.ts";
import type { Answer, AnswerContext, Draft, RecordedAnswer } from "../../engine/ports/codec.ts";
import { cachedByOpenai, counts, countTold, nameTold, usdOfRouter } from "../answers/counts.ts";
import { callDraft, callIdIn, countSaid, failureOfCalls, takeText, usageOf } from "../answers/server-said.ts";
import { contentFiltersIn } from "../failures/content-filters.ts";
import { callIn } from "./item-kinds.ts";

/** Converts items to blocks and back. */
type Items = {
  readonly draftOf: (item: JsonObject, callId: string) => Draft;
  readonly encodeItem: (block: Block) => JsonObject;
};

/** Reads a response of the Responses API (OpenAI's API reference). */
export function readAnswer(response: JsonObject, asked: AnswerContext, { draftOf }: Pick<Items, "draftOf">): Answer {
  const { settings, capabilities, lives, inferenceId } = asked;
  const { text: id, others } = takeText(response, "id");
  const { text: status, others: members } = takeText(others, "status");
  const { output, usage, previous_response_id: continued, ...rest } = members;
  const hasError = (response["error"] ?? null) !== null;
  const items = itemsOf(response);
  const hasFailed = status === null ? hasError : failedStatuses.has(status);
  const isWhole = status === null ? !hasError : completedStatuses.has(status);
  const failure = hasFailed ? failureIn(response) : failureOfCalls(items.filter(isUnreadCall), { isWhole });
  const isComplete = failure === null && isWhole;
  const isStored = (response["store"] ?? settings["store"] ?? capabilities["storeDefault"]) === true;
  const unusable = status === null || hasError ? "incomplete" : isStored || lives !== undefined ? null : "not-stored";
  const place = isStored || lives === undefined ? {} : { lives };
  const reason = unusable === null ? {} : { unusable };
  const object = (continued ?? null) === null && isJsonObject(rest["conversation"]) ? rest["conversation"]["id"] : null;
  const isInside = typeof object === "string";
  // What the blocks and the anchor do not hold goes to the rest.
  const unsaid = isInside && continued !== undefined ? { previous_response_id: continued } : {};
  return {
    ...{ id, status, isComplete },
    ...(id === null ? {} : { anchor: { kind: "response", id, ...place, ...reason } }),
    ...(isInside ? { echo: { anchor: object } } : continued === undefined ? {} : { echo: { anchor: continued } }),
    ...(failure === null ? {} : { failure }),
    blocks: items.map((item, place) => draftOf(item, callIdIn(item["call_id"], inferenceId, place))),
    keepsItems: isStored,
    ...usageOf(usage, tokensIn),
    contentFilters: contentFiltersIn(rest["content_filters"]),
    ...withheldIn({ ...rest, ...unsaid, ...strayOutput(output) }),
  };
}

export function writeAnswer(
  { id, status, blocks, usage, echo, withheld, rest }: RecordedAnswer,
  { encodeItem }: Pick<Items, "encodeItem">,
): JsonObject {
  const { output: others, hasOutput, conversation, ...members } = rest;
  const isInside = isJsonObject(conversation) && typeof conversation["id"] === "string";
  const response: Record<string, JsonValue> = {};
  if (id !== null) response["id"] = id;
  if (status !== null) response["status"] = status;
  if (others !== undefined && !isJsonList(others)) response["output"] = others;
  else if (hasOutput !== false) {
    const output: JsonValue[] = blocks.map(encodeItem);
    for (const other of others ?? []) if (isStray(other)) output.splice(other.index, 0, other.value);
    response["output"] = output;
  }
  if (usage !== undefined) response["usage"] = usage.reported;
  const named = echo?.["anchor"];
  if (conversation !== undefined)
    response["conversation"] = isInside && isText(named) ? { ...conversation, id: named } : conversation;
  if (named !== undefined && !(isInside && isText(named))) response["previous_response_id"] = named;
  if (withheld !== undefined) response["input_transformations"] = withheld.map(transformationOf);
  for (const [name, value] of Object.entries(members)) if (value !== undefined) setMember(response, name, value);
  return response;
}

/** Whether an item is a call of a function or a custom tool that cannot be read. */
function isUnreadCall(item: JsonObject): boolean {
  const call = callIn(item);
  return call !== null && callDraft(call, "any") === null;
}

const isText = (value: JsonValue | undefined): value is string => typeof value === "string";

export const itemsOf = ({ output }: JsonObject): readonly JsonObject[] => objectsOf(output);

// Recorded answers of one server say `complete`.
const completedStatuses: ReadonlySet<string> = new Set(["completed", "complete"]);
const failedStatuses: ReadonlySet<string> = new Set(["failed", "cancelled"]);

/** Values among the items that are not items, by position; an output that is not a list is kept as it is. */
function strayOutput(output: JsonValue | undefined): { readonly output?: JsonValue; readonly hasOutput?: false } {
  if (output === undefined) return { hasOutput: false };
  if (!isJsonList(output)) return { output };
  const strays = output.flatMap((value, index) => (isJsonObject(value) ? [] : [{ index, value }]));
  return strays.length === 0 ? {} : { output: strays };
}

const isStray = (value: JsonValue): value is { readonly index: number; readonly value: JsonValue } =>
  isJsonObject(value) && typeof value["index"] === "number" && value["value"] !== undefined;

/**
 * The reasoning that the server withheld from the model (`input_transformations`). If turnlog's form cannot express all of it, the original
 * is kept too.
 */
function withheldIn({ input_transformations: given, ...rest }: JsonObject): Pick<Answer, "withheld" | "rest"> {
  if (given === undefined) return { rest };
  const all = listOf(given);
  const understood = all
    .filter(isJsonObject)
    .filter(({ type, action }) => type === "reasoning" && action === "removed");
  const withheld = understood.map(({ id, reason }) => ({
    itemId: textOrNull(id),
    reason: ownReason(typeof reason === "string" ? reason : "unknown"),
  }));
  const isAll = withheld.length > 0 && canonicalJson(withheld.map(transformationOf)) === canonicalJson(given);
  return { withheld, rest: isAll ? rest : { ...rest, input_transformations: given } };
}

const transformationOf = ({ itemId, reason }: Withheld): JsonObject => {
  const theirs = [...reasons].find(([, own]) => own === reason)?.[0] ?? reason;
  return { type: "reasoning", id: itemId, action: "removed", reason: theirs };
};

const ownReason = (reason: string): string => reasons.get(reason) ?? reason;

const reasons: ReadonlyMap<string, string> = new Map([
  ["prefix_mismatch", "prefix"],
  ["model_mismatch", "model"],
  ["turn_boundary", "turn-boundary"],
  ["organization_mismatch", "organization"],
  ["end_user_mismatch", "end-user"],
]);

function failureIn({ error }: JsonObject): NonNullable<Answer["failure"]> {
  const { message, code } = objectOf(error);
  return {
    message: typeof message === "string" ? message : "the provider could not complete the response",
    code: textOrNull(code),
  };
}

/** The usage that a response, or an event of its stream, reports. */
export function tokensIn(reported: JsonValue) {
  const told = objectOf(reported);
  return {
    inputTokens: countSaid(told["input_tokens"]),
    cachedInputTokens: countSaid(objectOf(told["input_tokens_details"])["cached_tokens"]),
    outputTokens: countSaid(told["output_tokens"]),
    reasoningTokens: countSaid(objectOf(told["output_tokens_details"])["reasoning_tokens"]),
  };
}

/** The counts of a response by price class. */
export function countsIn(reported: JsonValue, { model, service_tier: tier }: JsonObject): Counts {
  const told = objectOf(reported);
  return counts({
    input: countTold(told["input_tokens"]),
    ...cachedByOpenai(objectOf(told["input_tokens_details"])),
    output: countTold(told["output_tokens"]),
    reasoning: countTold(objectOf(told["output_tokens_details"])["reasoning_tokens"]),
    served: nameTold(model),
    tier: nameTold(tier),
    usd: usdOfRouter(told),
  });
}
