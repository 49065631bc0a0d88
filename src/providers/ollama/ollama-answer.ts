import {
  isFilledText,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  numberOrZero,
  objectOf,
} from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import { assistant, reasoning, toolCall } from "../../domain/make-block.ts";
import type { Answer, Asked, Draft, RecordedAnswer } from "../../engine/stack/codec.ts";
import { callIdIn, plainDraft, takeText, usageOf } from "../answer-parts.ts";
import { assistantMessage } from "./ollama-messages.ts";

/** Reads an answer of `/api/chat`, put together where it was streamed. It has no id: nothing can be continued from it. */
export function readAnswer(response: JsonObject, { inferenceId }: Asked): Answer {
  const { text: status, others } = takeText(response, "done_reason");
  const { message, error, ...members } = others;
  const { counts, rest } = separateCounts(members);
  const blocks = isJsonObject(message) ? draftsOf(message, inferenceId) : [];
  const left = jsonDifference({ message: assistantMessage(blocks) }, message === undefined ? {} : { message });
  const failure = typeof error === "string" ? { message: error, code: null } : undefined;
  return {
    id: null,
    status,
    // Servers before 0.3 name no reason. `length` means that something is missing; `load` and `unload`, that no model was asked.
    isComplete: response["done"] === true && failure === undefined && (status ?? "stop") === "stop",
    ...(failure === undefined ? {} : { failure }),
    blocks,
    ...usageOf(counts, tokensIn),
    rest: {
      ...rest,
      ...(error === undefined ? {} : { error }),
      ...(left === undefined ? {} : { message: left }),
    },
  };
}

/** The answer that was read. */
export function writeAnswer({ status, blocks, usage, rest }: RecordedAnswer): JsonObject {
  const { message: left, ...members } = rest;
  return {
    ...members,
    ...objectOf(applyDifference({ message: assistantMessage(blocks) }, left)),
    ...(status === null ? {} : { done_reason: status }),
    ...objectOf(usage?.reported),
  };
}

/** What it counted, and how long that took. */
function separateCounts(members: JsonObject): { readonly counts: JsonObject | undefined; readonly rest: JsonObject } {
  const isCount = ([name]: readonly [string, unknown]): boolean => /_(count|duration)$/.test(name);
  const counts = Object.entries(members).filter(isCount);
  const rest = Object.entries(members).filter((member) => !isCount(member));
  return { counts: counts.length === 0 ? undefined : Object.fromEntries(counts), rest: Object.fromEntries(rest) };
}

function tokensIn(usage: JsonValue) {
  const told = objectOf(usage);
  return { inputTokens: numberOrZero(told["prompt_eval_count"]), outputTokens: numberOrZero(told["eval_count"]) };
}

function draftsOf({ thinking, content, tool_calls: calls }: JsonObject, inferenceId: string): readonly Draft[] {
  return [
    ...(isFilledText(thinking) ? [plainDraft(reasoning(thinking))] : []),
    ...(isFilledText(content) ? [plainDraft(assistant(content))] : []),
    ...listOf(calls).flatMap((call, place) => callDraft(objectOf(call), { inferenceId, place })),
  ];
}

type Place = { readonly inferenceId: string; readonly place: number };

function callDraft({ id, function: called }: JsonObject, { inferenceId, place }: Place): readonly Draft[] {
  const { name, arguments: given } = objectOf(called);
  if (!isFilledText(name)) return [];
  const text = typeof given === "string" ? given : JSON.stringify(given ?? {});
  return [plainDraft(toolCall({ callId: callIdIn(id, inferenceId, place), name, arguments: text }))];
}
