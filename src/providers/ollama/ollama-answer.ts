import { isFilledText, type JsonObject, type JsonValue, objectOf } from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import type { Counts } from "../../domain/events/shared.ts";
import { assistant, reasoning } from "../../domain/make-block.ts";
import type { Answer, AnswerContext, Draft, RecordedAnswer } from "../../engine/ports/codec.ts";
import { counts, countTold, nameTold } from "../answers/counts.ts";
import {
  callDraft,
  callIdIn,
  callsSaid,
  countSaid,
  failureOfCalls,
  plainDraft,
  takeText,
  usageOf,
} from "../answers/server-said.ts";
import { assistantMessage } from "./ollama-messages.ts";

/** Reads an answer of `/api/chat`, assembled if it was streamed. It has no id, so nothing can continue from it. */
export function readAnswer(response: JsonObject, { inferenceId }: AnswerContext): Answer {
  const { text: status, others } = takeText(response, "done_reason");
  const { message, error, ...members } = others;
  const { counts, rest } = separateCounts(members);
  const calls = callsOf(objectOf(message), inferenceId);
  const blocks = [...wordsOf(objectOf(message)), ...calls.flatMap(({ draft }) => draft ?? [])];
  const left = jsonDifference({ message: assistantMessage(blocks) }, message === undefined ? {} : { message });
  const unread = calls.flatMap(({ said, draft }) => (draft === null ? [said] : []));
  // Servers before 0.3 send no reason. `length` means that something is missing; `load` and `unload`, that no model was called.
  const isWhole = response["done"] === true && (status ?? "stop") === "stop";
  const failure = typeof error === "string" ? { message: error, code: null } : failureOfCalls(unread, { isWhole });
  return {
    id: null,
    status,
    isComplete: failure === null && isWhole,
    ...(failure === null ? {} : { failure }),
    blocks,
    ...usageOf(counts, tokensIn),
    rest: {
      ...rest,
      ...(error === undefined ? {} : { error }),
      ...(left === undefined ? {} : { message: left }),
    },
  };
}

/** Restores the answer that was read. */
export function writeAnswer({ status, blocks, usage, rest }: RecordedAnswer): JsonObject {
  const { message: left, ...members } = rest;
  return {
    ...members,
    ...objectOf(applyDifference({ message: assistantMessage(blocks) }, left)),
    ...(status === null ? {} : { done_reason: status }),
    ...objectOf(usage?.reported),
  };
}

/** The counts and durations of an answer. */
function separateCounts(members: JsonObject): { readonly counts: JsonObject | undefined; readonly rest: JsonObject } {
  const isCount = ([name]: readonly [string, unknown]): boolean => /_(count|duration)$/.test(name);
  const counts = Object.entries(members).filter(isCount);
  const rest = Object.entries(members).filter((member) => !isCount(member));
  return { counts: counts.length === 0 ? undefined : Object.fromEntries(counts), rest: Object.fromEntries(rest) };
}

function tokensIn(usage: JsonValue) {
  const told = objectOf(usage);
  return {
    inputTokens: countSaid(told["prompt_eval_count"]),
    cachedInputTokens: countSaid(told["prompt_eval_cached_count"]),
    outputTokens: countSaid(told["eval_count"]),
  };
}

/** The counts of an answer by price class. */
export function countsIn(usage: JsonValue, { model }: JsonObject): Counts {
  const told = objectOf(usage);
  return counts({
    input: countTold(told["prompt_eval_count"]),
    cacheRead: countTold(told["prompt_eval_cached_count"]),
    output: countTold(told["eval_count"]),
    served: nameTold(model),
  });
}

function wordsOf({ thinking, content }: JsonObject): readonly Draft[] {
  return [
    ...(isFilledText(thinking) ? [plainDraft(reasoning(thinking))] : []),
    ...(isFilledText(content) ? [plainDraft(assistant(content))] : []),
  ];
}

/** The calls of a message, each with its block, or null if it cannot be read. */
const callsOf = ({ tool_calls: calls }: JsonObject, inferenceId: string) =>
  callsSaid(calls).map((said, place) => {
    const { id, function: called } = objectOf(said);
    const { name, arguments: given } = objectOf(called);
    return { said, draft: callDraft({ name, arguments: given }, callIdIn(id, inferenceId, place)) };
  });
