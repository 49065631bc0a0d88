import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import type { Answer, Asked, Draft, RecordedAnswer } from "../../engine/stack/codec.ts";
import { draftsOf, partsOf } from "./gemini-parts.ts";

/** Reads a response of generateContent: the first candidate is the answer, the others stay as they came. */
export function readAnswer(response: JsonObject, { inferenceId }: Asked): Answer {
  const { responseId, candidates, usageMetadata: usage, ...rest } = response;
  const [candidate] = isJsonList(candidates) ? candidates : [];
  const { content, finishReason } = isJsonObject(candidate) ? candidate : {};
  const status = typeof finishReason === "string" ? finishReason : null;
  const parts = isJsonObject(content) && isJsonList(content["parts"]) ? content["parts"].filter(isJsonObject) : [];
  const blocks = draftsOf(parts, inferenceId);
  const left = candidates === undefined ? undefined : jsonDifference(plainCandidates(blocks, status), candidates);
  const failure = failureIn(response);
  return {
    id: typeof responseId === "string" ? responseId : null,
    status,
    isComplete: status === "STOP" && failure === null,
    ...(failure === null ? {} : { failure }),
    blocks,
    ...(usage === undefined ? {} : { usage: { ...tokensIn(usage), reported: usage } }),
    rest: {
      ...rest,
      ...(responseId === undefined || typeof responseId === "string" ? {} : { responseId }),
      ...(candidates === undefined ? { hasCandidates: false } : left === undefined ? {} : { candidates: left }),
    },
  };
}

/** The response that an answer was read from. */
export function writeAnswer({ id, status, blocks, usage, rest }: RecordedAnswer): JsonObject {
  const { candidates: left, hasCandidates, ...members } = rest;
  return {
    ...(hasCandidates === false ? {} : { candidates: applyDifference(plainCandidates(blocks, status), left) }),
    ...(usage === undefined ? {} : { usageMetadata: usage.reported }),
    ...(id === null ? {} : { responseId: id }),
    ...members,
  };
}

/** The candidates that blocks alone stand for. */
const plainCandidates = (blocks: readonly Draft[], status: string | null): JsonValue => [
  { content: { parts: blocks.flatMap((block) => partsOf(block)), role: "model" }, finishReason: status, index: 0 },
];

/** Why there is no answer: the prompt was blocked, or the model did what it may not. */
export function failureIn({ promptFeedback, candidates }: JsonObject): NonNullable<Answer["failure"]> | null {
  const { blockReason, blockReasonMessage } = isJsonObject(promptFeedback) ? promptFeedback : {};
  if (typeof blockReason === "string") {
    const why = typeof blockReasonMessage === "string" ? `${blockReason}: ${blockReasonMessage}` : blockReason;
    return { message: `Gemini blocked the prompt (${why}): nothing was generated`, code: blockReason };
  }
  const [candidate] = isJsonList(candidates) ? candidates : [];
  const { finishReason, finishMessage } = isJsonObject(candidate) ? candidate : {};
  if (typeof finishReason !== "string" || !mistakes.has(finishReason)) return null;
  const why = typeof finishMessage === "string" ? `: ${finishMessage}` : "";
  return { message: `the model could not answer (${finishReason})${why}`, code: finishReason };
}

/** Ends of an answer in which the model did something wrong, and said nothing that could be gone on with. */
const mistakes: ReadonlySet<string> = new Set([
  ...["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"],
  ...["TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"],
]);

/** Gemini counts what was thought apart from what was said, and what its own tools put into the prompt apart from the prompt. */
export function tokensIn(usage: JsonValue) {
  const told = isJsonObject(usage) ? usage : {};
  const count = (name: string): number => (typeof told[name] === "number" ? told[name] : 0);
  return {
    inputTokens: count("promptTokenCount") + count("toolUsePromptTokenCount"),
    cachedInputTokens: count("cachedContentTokenCount"),
    outputTokens: count("candidatesTokenCount") + count("thoughtsTokenCount"),
    reasoningTokens: count("thoughtsTokenCount"),
  };
}
