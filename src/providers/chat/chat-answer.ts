import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import { reasoning, toolCall } from "../../domain/make-block.ts";
import { contentParts } from "../../domain/message-content.ts";
import type { Answer, Asked, Draft, RecordedAnswer } from "../../engine/stack/codec.ts";
import type { ChatDialect } from "./chat-dialects.ts";
import { assistantMessage } from "./chat-messages.ts";

/** Reads a completion: the first choice is the answer, the others stay as they came. */
export function readAnswer(response: JsonObject, { inferenceId }: Asked, dialect: ChatDialect): Answer {
  const { id, choices, usage, ...rest } = response;
  const [choice] = isJsonList(choices) ? choices : [];
  const { message, finish_reason: finish } = isJsonObject(choice) ? choice : {};
  const status = typeof finish === "string" ? finish : null;
  const blocks = isJsonObject(message) ? draftsOf(message, inferenceId, dialect) : [];
  const left = choices === undefined ? undefined : jsonDifference(plainChoices(blocks, status, dialect), choices);
  const error = isJsonObject(response["error"]) ? response["error"] : null;
  return {
    id: typeof id === "string" ? id : null,
    status,
    isComplete: error === null && status !== null && completeStatuses.has(status),
    ...(error === null ? {} : { failure: failureIn(error) }),
    blocks,
    ...(usage === undefined ? {} : { usage: { ...tokensIn(usage), reported: usage } }),
    rest: {
      ...rest,
      ...(id === undefined || typeof id === "string" ? {} : { id }),
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
    code: typeof told === "string" ? told : null,
  };
}

/** What the model thought, then what it said, then what it called: the order in which messages have them. */
function draftsOf(message: JsonObject, inferenceId: string, { reasoningMember }: ChatDialect): readonly Draft[] {
  const { content, refusal, tool_calls: calls } = message;
  const parts = isJsonList(content) ? content.filter(isJsonObject) : [];
  const thinking = parts.filter(({ type }) => type === "thinking");
  const rest = parts.filter(({ type }) => type !== "thinking");
  const said = typeof content === "string" && content !== "" ? content : rest.length > 0 ? rest : null;
  const thought = [reasoningMember ?? "reasoning", "reasoning_content", "reasoning"]
    .map((name) => message[name])
    .find(isText);
  return [
    ...(thought === undefined ? [] : [plainDraft(reasoning(thought))]),
    ...thinking.map(thinkingDraft),
    ...(said === null ? [] : [saidDraft(contentParts(said, "content"))]),
    ...(isText(refusal) ? [saidDraft([{ type: "refusal", refusal }])] : []),
    ...(isJsonList(calls) ? calls.filter(isJsonObject) : []).flatMap((call, n) =>
      callDraft(call, `${inferenceId}/${n}`),
    ),
  ];
}

const isText = (value: JsonValue | undefined): value is string => typeof value === "string" && value !== "";
const plainDraft = ({ kind, payload }: Draft): Draft => ({ kind, payload });
const saidDraft = (content: readonly JsonObject[]): Draft => ({
  kind: "assistant",
  payload: { role: "assistant", content },
});

function thinkingDraft({ thinking, signature }: JsonObject): Draft {
  const summary = isJsonList(thinking) ? thinking : isText(thinking) ? [{ type: "text", text: thinking }] : [];
  const payload = { type: "reasoning", summary };
  return { kind: "reasoning", payload, ...(isText(signature) ? { wire: { ciphertext: signature } } : {}) };
}

/** A call that a server gave no id gets one, which is the same whenever the answer is read. */
function callDraft({ id, function: called, custom }: JsonObject, ownId: string): readonly Draft[] {
  const callId = isText(id) ? id : `call_${ownId.replace(/[^a-zA-Z0-9]/g, "_")}`;
  if (isJsonObject(custom)) {
    const { name, input } = custom;
    return isText(name) && typeof input === "string"
      ? [{ kind: "tool_call", payload: { type: "custom", callId, name, input } }]
      : [];
  }
  const { name, arguments: given } = isJsonObject(called) ? called : {};
  return isText(name) && typeof given === "string" ? [plainDraft(toolCall({ callId, name, arguments: given }))] : [];
}

/** Tokens as a server of this wire counts them. */
export function tokensIn(usage: JsonValue) {
  const told = isJsonObject(usage) ? usage : {};
  const prompt = isJsonObject(told["prompt_tokens_details"]) ? told["prompt_tokens_details"] : {};
  const completion = isJsonObject(told["completion_tokens_details"]) ? told["completion_tokens_details"] : {};
  return {
    inputTokens: count(told["prompt_tokens"]),
    // DeepSeek counts its cache by a name of its own.
    cachedInputTokens: count(prompt["cached_tokens"] ?? told["prompt_cache_hit_tokens"]),
    outputTokens: count(told["completion_tokens"]),
    reasoningTokens: count(completion["reasoning_tokens"]),
  };
}

const count = (value: JsonValue | undefined): number => (typeof value === "number" ? value : 0);
