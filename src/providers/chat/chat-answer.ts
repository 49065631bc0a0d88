import {
  isFilledText,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  objectsOf,
  textOrNull,
} from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import type { Counts } from "../../domain/events/shared.ts";
import { reasoning } from "../../domain/make-block.ts";
import type { Answer, AnswerContext, Draft, RecordedAnswer } from "../../engine/ports/codec.ts";
import { cachedByOpenai, counts, countTold, nameTold, sumTold, usdOfRouter } from "../answers/counts.ts";
import {
  callDraft,
  callIdIn,
  callsSaid,
  countSaid,
  failureOfCalls,
  partsSaid,
  plainDraft,
  takeText,
  usageOf,
} from "../answers/server-said.ts";
import type { ChatDialect } from "./chat-dialects.ts";
import { detailedReasoning, withExtras } from "./chat-extras.ts";
import { assistantMessage } from "./chat-messages.ts";

/** Reads a completion: the first choice is the answer, the others are kept as they came. */
export function readAnswer(response: JsonObject, { inferenceId }: AnswerContext, dialect: ChatDialect): Answer {
  const { text: id, others } = takeText(response, "id");
  const { choices, usage, ...rest } = others;
  const { message, finish_reason: finish } = objectOf(listOf(choices)[0]);
  const status = textOrNull(finish);
  const calls = callsOf(objectOf(message), inferenceId);
  const blocks = [...wordsOf(objectOf(message), dialect), ...calls.flatMap(({ draft }) => draft ?? [])];
  const left = choices === undefined ? undefined : jsonDifference(plainChoices(blocks, status, dialect), choices);
  const unread = calls.flatMap(({ said, draft }) => (draft === null ? [said] : []));
  const isWhole = status !== null && completeStatuses.has(status);
  const failure = isJsonObject(response["error"]) ? failureIn(response["error"]) : failureOfCalls(unread, { isWhole });
  return {
    id,
    status,
    isComplete: failure === null && isWhole,
    ...(failure === null ? {} : { failure }),
    blocks,
    ...usageOf(usage, tokensIn),
    rest: {
      ...rest,
      ...(choices === undefined ? { hasChoices: false } : left === undefined ? {} : { choices: left }),
    },
  };
}

/** Restores the completion that an answer was read from. */
export function writeAnswer({ id, status, blocks, usage, rest }: RecordedAnswer, dialect: ChatDialect): JsonObject {
  const { choices: left, hasChoices, ...members } = rest;
  return {
    ...(id === null ? {} : { id }),
    ...(hasChoices === false ? {} : { choices: applyDifference(plainChoices(blocks, status, dialect), left) }),
    ...(usage === undefined ? {} : { usage: usage.reported }),
    ...members,
  };
}

/** The choices that blocks make without residues. */
const plainChoices = (blocks: readonly Draft[], status: string | null, dialect: ChatDialect): JsonValue => [
  { index: 0, message: assistantMessage(blocks, dialect), finish_reason: status },
];

/** Any other status, such as `length` or `content_filter`, means that something is missing. */
const completeStatuses: ReadonlySet<string> = new Set(["stop", "tool_calls", "function_call"]);

function failureIn({ message, code, type }: JsonObject): NonNullable<Answer["failure"]> {
  const told = [code, type].find((name) => typeof name === "string");
  return {
    message: typeof message === "string" ? message : "the provider could not complete the answer",
    code: textOrNull(told),
  };
}

/** The model's reasoning, then its text, in the order of a message's members. Calls come last. */
function wordsOf(message: JsonObject, { reasoningMember }: ChatDialect): readonly Draft[] {
  const { content, refusal } = message;
  const parts = objectsOf(content);
  const thinking = parts.filter(({ type }) => type === "thinking");
  const said = partsSaid(content).filter(({ type }) => type !== "thinking");
  const thought = [reasoningMember ?? "reasoning", "reasoning_content", "reasoning"]
    .map((name) => message[name])
    .find(isFilledText);
  const detailed = detailedReasoning(message["reasoning_details"], thought);
  return [
    ...(detailed === null ? (thought === undefined ? [] : [plainDraft(reasoning(thought))]) : [detailed]),
    ...thinking.map(thinkingDraft),
    ...(said.length === 0 ? [] : [saidDraft(said)]),
    ...(isFilledText(refusal) ? [saidDraft([{ type: "refusal", refusal }])] : []),
  ];
}

const saidDraft = (content: readonly JsonObject[]): Draft => ({
  kind: "assistant",
  payload: { role: "assistant", content },
});

function thinkingDraft({ thinking, signature }: JsonObject): Draft {
  const summary = isJsonList(thinking) ? thinking : isFilledText(thinking) ? [{ type: "text", text: thinking }] : [];
  const payload = { type: "reasoning", summary };
  return { kind: "reasoning", payload, ...(isFilledText(signature) ? { wire: { ciphertext: signature } } : {}) };
}

/** The calls of a message, each with its block, or null if it cannot be read. `function_call` is the old form of a single call. */
function callsOf(
  { tool_calls: calls, function_call: single }: JsonObject,
  inferenceId: string,
): readonly { readonly said: JsonValue; readonly draft: Draft | null }[] {
  const all = [...callsSaid(calls), ...callsSaid(single).map((call) => ({ function: call }))];
  return all.map((said, place) => {
    const { id, function: called, custom } = objectOf(said);
    const isCustom = isJsonObject(custom);
    const { name, arguments: given, input } = objectOf(custom ?? called);
    const call = { name, arguments: isCustom ? input : given, isCustom };
    const draft = callDraft(call, callIdIn(id, inferenceId, place));
    return { said, draft: draft === null ? null : withExtras(draft, objectOf(said)) };
  });
}

/** The usage of an answer on this wire. */
export function tokensIn(usage: JsonValue) {
  const told = objectOf(usage);
  const completion = objectOf(told["completion_tokens_details"]);
  return {
    inputTokens: countSaid(told["prompt_tokens"]),
    cachedInputTokens: countSaid(cachedIn(told)),
    outputTokens: countSaid(told["completion_tokens"]),
    reasoningTokens: countSaid(completion["reasoning_tokens"]),
  };
}

/** Tokens read from a cache. DeepSeek and Mistral have names of their own for them, and Mistral another one for the details. */
const cachedIn = (told: JsonObject): JsonValue | undefined =>
  promptDetails(told)["cached_tokens"] ?? told["prompt_cache_hit_tokens"] ?? told["num_cached_tokens"];

const promptDetails = (told: JsonObject): JsonObject =>
  objectOf(told["prompt_tokens_details"] ?? told["prompt_token_details"]);

/** The counts of a completion by price class. DeepSeek names hits and misses, and llama.cpp's older servers count in their timings. */
export function countsIn(usage: JsonValue, { model, service_tier: tier, timings }: JsonObject): Counts {
  const told = objectOf(usage);
  const { prompt_cache_hit_tokens: hit, prompt_cache_miss_tokens: missed } = told;
  return counts({
    input: countTold(told["prompt_tokens"]) ?? sumTold(countTold(hit), countTold(missed)),
    ...cachedByOpenai(promptDetails(told)),
    cacheRead: countTold(cachedIn(told) ?? objectOf(timings)["cache_n"]),
    output: countTold(told["completion_tokens"]),
    reasoning: countTold(objectOf(told["completion_tokens_details"])["reasoning_tokens"]),
    served: nameTold(model),
    tier: nameTold(tier),
    usd: usdOfRouter(told),
  });
}
