import {
  isFilledText,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  numberOrZero,
  objectOf,
  objectsOf,
  textOrNull,
} from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import { reasoning, toolCall } from "../../domain/make-block.ts";
import { contentParts } from "../../domain/message-content.ts";
import type { Answer, Asked, Draft, RecordedAnswer } from "../../engine/stack/codec.ts";
import { callIdIn, plainDraft, takeText, usageOf } from "../answer-parts.ts";
import type { ChatDialect } from "./chat-dialects.ts";
import { assistantMessage } from "./chat-messages.ts";

/** Reads a completion: the first choice is the answer, the others stay as they came. */
export function readAnswer(response: JsonObject, { inferenceId }: Asked, dialect: ChatDialect): Answer {
  const { text: id, others } = takeText(response, "id");
  const { choices, usage, ...rest } = others;
  const { message, finish_reason: finish } = objectOf(listOf(choices)[0]);
  const status = textOrNull(finish);
  const blocks = isJsonObject(message) ? draftsOf(message, inferenceId, dialect) : [];
  const left = choices === undefined ? undefined : jsonDifference(plainChoices(blocks, status, dialect), choices);
  const error = isJsonObject(response["error"]) ? response["error"] : null;
  return {
    id,
    status,
    isComplete: error === null && status !== null && completeStatuses.has(status),
    ...(error === null ? {} : { failure: failureIn(error) }),
    blocks,
    ...usageOf(usage, tokensIn),
    rest: {
      ...rest,
      ...(choices === undefined ? { hasChoices: false } : left === undefined ? {} : { choices: left }),
    },
  };
}

/** The completion that an answer was read from. */
export function writeAnswer({ id, status, blocks, usage, rest }: RecordedAnswer, dialect: ChatDialect): JsonObject {
  const { choices: left, hasChoices, ...members } = rest;
  return {
    ...(id === null ? {} : { id }),
    ...(hasChoices === false ? {} : { choices: applyDifference(plainChoices(blocks, status, dialect), left) }),
    ...(usage === undefined ? {} : { usage: usage.reported }),
    ...members,
  };
}

/** The choices that blocks alone stand for. */
const plainChoices = (blocks: readonly Draft[], status: string | null, dialect: ChatDialect): JsonValue => [
  { index: 0, message: assistantMessage(blocks, dialect), finish_reason: status },
];

/** Anything else, `length` and `content_filter` among it, means that something is missing. */
const completeStatuses: ReadonlySet<string> = new Set(["stop", "tool_calls", "function_call"]);

function failureIn({ message, code, type }: JsonObject): NonNullable<Answer["failure"]> {
  const told = [code, type].find((name) => typeof name === "string");
  return {
    message: typeof message === "string" ? message : "the provider could not complete the answer",
    code: textOrNull(told),
  };
}

/** What the model thought, then what it said, then what it called: the order in which messages have them. */
function draftsOf(message: JsonObject, inferenceId: string, { reasoningMember }: ChatDialect): readonly Draft[] {
  const { content, refusal, tool_calls: calls } = message;
  const parts = objectsOf(content);
  const thinking = parts.filter(({ type }) => type === "thinking");
  const rest = parts.filter(({ type }) => type !== "thinking");
  const said = typeof content === "string" && content !== "" ? content : rest.length > 0 ? rest : null;
  const thought = [reasoningMember ?? "reasoning", "reasoning_content", "reasoning"]
    .map((name) => message[name])
    .find(isFilledText);
  return [
    ...(thought === undefined ? [] : [plainDraft(reasoning(thought))]),
    ...thinking.map(thinkingDraft),
    ...(said === null ? [] : [saidDraft(contentParts(said, "content"))]),
    ...(isFilledText(refusal) ? [saidDraft([{ type: "refusal", refusal }])] : []),
    ...objectsOf(calls).flatMap((call, place) => callDraft(call, callIdIn(call["id"], inferenceId, place))),
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

function callDraft({ function: called, custom }: JsonObject, callId: string): readonly Draft[] {
  if (isJsonObject(custom)) {
    const { name, input } = custom;
    return isFilledText(name) && typeof input === "string"
      ? [{ kind: "tool_call", payload: { type: "custom", callId, name, input } }]
      : [];
  }
  const { name, arguments: given } = objectOf(called);
  return isFilledText(name) && typeof given === "string"
    ? [plainDraft(toolCall({ callId, name, arguments: given }))]
    : [];
}

/** Tokens as a server of this wire counts them. */
export function tokensIn(usage: JsonValue) {
  const told = objectOf(usage);
  const prompt = objectOf(told["prompt_tokens_details"]);
  const completion = objectOf(told["completion_tokens_details"]);
  return {
    inputTokens: numberOrZero(told["prompt_tokens"]),
    // DeepSeek counts its cache by a name of its own.
    cachedInputTokens: numberOrZero(prompt["cached_tokens"] ?? told["prompt_cache_hit_tokens"]),
    outputTokens: numberOrZero(told["completion_tokens"]),
    reasoningTokens: numberOrZero(completion["reasoning_tokens"]),
  };
}
