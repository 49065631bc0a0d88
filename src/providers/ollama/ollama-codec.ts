import {
  definedMembers,
  isFilledText,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
} from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { Counts } from "../../domain/events/shared.ts";
import { assistant, reasoning } from "../../domain/make-block.ts";
import type {
  Answer,
  AnswerContext,
  Codec,
  Draft,
  RecordedAnswer,
  RequestParts,
  Settings,
} from "../../engine/ports/codec.ts";
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
import { defineCodec, offeredFunctions } from "../codec/define-codec.ts";
import { assistantMessage, messagesOf, partRefusal, refusalOf, restated } from "./ollama-messages.ts";

/**
 * Ollama's own `/api/chat` (its API documentation): one message for consecutive output of the model, arguments as objects, thinking as text
 * without a signature. The server rejects a request that exceeds the model's context and never truncates it silently.
 */
export const ollamaCodec: Codec = defineCodec({
  name: "ollama/1",
  resultsStandTogether: true,
  unsendableReason: refusalOf,
  unsendablePart: partRefusal,
  restated,
  adjust,
  offeredTools: offeredFunctions,
  encodeRequest,
  ...{ readAnswer, countsIn },
  writeAnswer,
});

function encodeRequest({ settings, input, transport }: RequestParts): string {
  const { instructions, tools, ...members } = settings;
  const told = instructions ?? null;
  return JSON.stringify({
    ...members,
    messages: [
      ...(told === null ? [] : [{ role: "system", content: told }]),
      ...messagesOf(input.map(({ block }) => block)),
    ],
    ...(tools === undefined ? {} : { tools: isJsonList(tools) ? tools.map(toolFor) : tools }),
    stream: transport !== "json",
    ...{ truncate: false, shift: false },
  });
}

/** Members that every request sets itself, so that they are not settings. */
export const decidedMembers: ReadonlySet<string> = new Set(["messages", "stream", "truncate", "shift"]);

/** A tool in the common form is converted; a tool in the form of the wire stays unchanged. */
function toolFor(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || tool["type"] !== undefined) return tool;
  return { type: "function", function: tool };
}

function adjust(settings: Settings, adjustments: Adjustments): Settings {
  const { model, instructions, temperature, topP, maxOutputTokens, output, ...others } = adjustments;
  const { reasoningEffort, parallelToolCalls, toolChoice } = others;
  if (toolChoice !== undefined && toolChoice !== "auto")
    throw unknown("toolChoice", "its models decide that themselves");
  if (parallelToolCalls === false) throw unknown("parallelToolCalls", "its models decide how many tools they call");
  const options = definedMembers({ temperature, top_p: topP, num_predict: maxOutputTokens });
  const before = objectOf(settings["options"]);
  return {
    ...settings,
    ...definedMembers({ model, instructions, format: output }),
    ...(reasoningEffort === undefined ? {} : { think: thinkingOf(reasoningEffort) }),
    ...(Object.keys(options).length === 0 ? {} : { options: { ...before, ...options } }),
  };
}

function thinkingOf(effort: string): JsonValue {
  if (effort === "none") return false;
  if (efforts.has(effort)) return effort;
  throw new TypeError(`Ollama has no reasoningEffort '${effort}': give none, ${[...efforts].join(", ")}`);
}

const efforts: ReadonlySet<string> = new Set(["low", "medium", "high", "max"]);

const unknown = (name: string, reason: string): TypeError =>
  new TypeError(`Ollama has no counterpart of ${name}: ${reason}; leave it out`);

/** Reads an answer of `/api/chat`, assembled if it was streamed. It has no id, so nothing can continue from it. */
function readAnswer(response: JsonObject, { inferenceId }: AnswerContext): Answer {
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
function writeAnswer({ status, blocks, usage, rest }: RecordedAnswer): JsonObject {
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
function countsIn(usage: JsonValue, { model }: JsonObject): Counts {
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
