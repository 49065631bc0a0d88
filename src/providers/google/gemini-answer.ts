import { type JsonObject, type JsonValue, listOf, objectOf, textOrNull } from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import type { Counts } from "../../domain/events/shared.ts";
import type { Answer, AnswerContext, Draft, RecordedAnswer } from "../../engine/ports/codec.ts";
import { counts, countTold, nameTold, sumTold } from "../answers/counts.ts";
import { countSaid, failureOfCalls, takeText, usageOf } from "../answers/server-said.ts";
import { draftsOf, partsAsSaid, partsIn, unreadCalls } from "./gemini-parts.ts";

/** Reads a response of generateContent: the first candidate is the answer, the others are kept as they came. */
export function readAnswer(response: JsonObject, { inferenceId }: AnswerContext): Answer {
  const { text: id, others } = takeText(response, "responseId");
  const { candidates, usageMetadata: usage, ...rest } = others;
  const [candidate] = listOf(candidates);
  const { finishReason } = objectOf(candidate);
  const status = textOrNull(finishReason);
  const blocks = draftsOf(partsIn(candidate), inferenceId);
  const left = candidates === undefined ? undefined : jsonDifference(plainCandidates(blocks, status), candidates);
  const failure =
    failureIn(response) ?? failureOfCalls(unreadCalls(partsIn(candidate)), { isWhole: status === "STOP" });
  return {
    id,
    status,
    isComplete: status === "STOP" && failure === null,
    ...(failure === null ? {} : { failure }),
    blocks,
    ...usageOf(usage, tokensIn),
    rest: {
      ...rest,
      ...(candidates === undefined ? { hasCandidates: false } : left === undefined ? {} : { candidates: left }),
    },
  };
}

/** Restores the response that an answer was read from. */
export function writeAnswer({ id, status, blocks, usage, rest }: RecordedAnswer): JsonObject {
  const { candidates: left, hasCandidates, ...members } = rest;
  return {
    ...(hasCandidates === false ? {} : { candidates: applyDifference(plainCandidates(blocks, status), left) }),
    ...(usage === undefined ? {} : { usageMetadata: usage.reported }),
    ...(id === null ? {} : { responseId: id }),
    ...members,
  };
}

/** The candidates that blocks make without residues. */
const plainCandidates = (blocks: readonly Draft[], status: string | null): JsonValue => [
  { content: { parts: blocks.flatMap(partsAsSaid), role: "model" }, finishReason: status, index: 0 },
];

/** Why there is no answer: the prompt was blocked, or the model's output was not allowed. */
export function failureIn({ promptFeedback, candidates }: JsonObject): NonNullable<Answer["failure"]> | null {
  const { blockReason, blockReasonMessage } = objectOf(promptFeedback);
  if (typeof blockReason === "string") {
    const why = typeof blockReasonMessage === "string" ? `${blockReason}: ${blockReasonMessage}` : blockReason;
    return { message: `Gemini blocked the prompt (${why}): nothing was generated`, code: blockReason };
  }
  const [candidate] = listOf(candidates);
  const { finishReason, finishMessage } = objectOf(candidate);
  if (typeof finishReason !== "string" || !mistakes.has(finishReason)) return null;
  const why = typeof finishMessage === "string" ? `: ${finishMessage}` : "";
  return { message: `the model could not answer (${finishReason})${why}`, code: finishReason };
}

/** Finish reasons for mistakes of the model, after which there is nothing to continue from. */
const mistakes: ReadonlySet<string> = new Set([
  ...["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"],
  ...["TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"],
]);

/** Gemini counts thinking apart from the output, and input of its own tools apart from the prompt. */
export function tokensIn(usage: JsonValue) {
  const told = objectOf(usage);
  const count = (name: string): number => countSaid(told[name]);
  return {
    inputTokens: count("promptTokenCount") + count("toolUsePromptTokenCount"),
    cachedInputTokens: count("cachedContentTokenCount"),
    outputTokens: count("candidatesTokenCount") + count("thoughtsTokenCount"),
    reasoningTokens: count("thoughtsTokenCount"),
  };
}

/** The counts of a response by price class. Gemini leaves out the cached tokens if there are none. */
export function countsIn(usage: JsonValue, { modelVersion: model }: JsonObject): Counts {
  const told = objectOf(usage);
  const count = (name: string): number | undefined => countTold(told[name]);
  const prompt = count("promptTokenCount");
  return counts({
    input: prompt === undefined ? undefined : sumTold(prompt, count("toolUsePromptTokenCount")),
    cacheRead: count("cachedContentTokenCount") ?? (prompt === undefined ? undefined : 0),
    output: sumTold(count("candidatesTokenCount"), count("thoughtsTokenCount")),
    reasoning: count("thoughtsTokenCount"),
    served: nameTold(model),
    tier: nameTold(told["serviceTier"]) ?? nameTold(told["trafficType"]),
  });
}
