import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import { assistant, reasoning, toolCall } from "../../domain/make-block.ts";
import type { Answer, Asked, Draft, RecordedAnswer } from "../../engine/stack/codec.ts";
import { assistantMessage } from "./ollama-messages.ts";

/** Reads an answer of `/api/chat`, put together where it was streamed. It has no id: nothing can be continued from it. */
export function readAnswer(response: JsonObject, { inferenceId }: Asked): Answer {
  const { message, done, done_reason: reason, error, ...members } = response;
  const { counts, rest } = separateCounts(members);
  const blocks = isJsonObject(message) ? draftsOf(message, inferenceId) : [];
  const left = jsonDifference({ message: assistantMessage(blocks) }, message === undefined ? {} : { message });
  const status = typeof reason === "string" ? reason : null;
  const failure = typeof error === "string" ? { message: error, code: null } : undefined;
  return {
    id: null,
    status,
    // Servers before 0.3 name no reason. `length` means that something is missing; `load` and `unload`, that no model was asked.
    isComplete: done === true && failure === undefined && (status ?? "stop") === "stop",
    ...(failure === undefined ? {} : { failure }),
    blocks,
    ...(counts === null ? {} : { usage: { ...tokensIn(counts), reported: counts } }),
    rest: {
      ...rest,
      ...(done === undefined ? {} : { done }),
      ...(reason === undefined || status !== null ? {} : { done_reason: reason }),
      ...(error === undefined ? {} : { error }),
      ...(left === undefined ? {} : { message: left }),
    },
  };
}

/** The answer that was read. */
export function writeAnswer({ status, blocks, usage, rest }: RecordedAnswer): JsonObject {
  const { message: left, ...members } = rest;
  const told = applyDifference({ message: assistantMessage(blocks) }, left);
  return {
    ...members,
    ...(isJsonObject(told) ? told : {}),
    ...(status === null ? {} : { done_reason: status }),
    ...(isJsonObject(usage?.reported) ? usage.reported : {}),
  };
}

/** What it counted, and how long that took. */
function separateCounts(members: JsonObject): { readonly counts: JsonObject | null; readonly rest: JsonObject } {
  const isCount = ([name]: readonly [string, unknown]): boolean => /_(count|duration)$/.test(name);
  const counts = Object.entries(members).filter(isCount);
  const rest = Object.entries(members).filter((member) => !isCount(member));
  return { counts: counts.length === 0 ? null : Object.fromEntries(counts), rest: Object.fromEntries(rest) };
}

const tokensIn = ({ prompt_eval_count: read, eval_count: written }: JsonObject) => ({
  inputTokens: count(read),
  outputTokens: count(written),
});

const count = (value: JsonValue | undefined): number => (typeof value === "number" ? value : 0);

function draftsOf({ thinking, content, tool_calls: calls }: JsonObject, inferenceId: string): readonly Draft[] {
  return [
    ...(isText(thinking) ? [plainDraft(reasoning(thinking))] : []),
    ...(isText(content) ? [plainDraft(assistant(content))] : []),
    ...(isJsonList(calls) ? calls : []).flatMap((call, n) => callDraft(call, `${inferenceId}/${n}`)),
  ];
}

/** A call that the server gave no id gets one, which is the same whenever the answer is read. */
function callDraft(call: JsonValue, ownId: string): readonly Draft[] {
  const { id, function: called } = isJsonObject(call) ? call : {};
  const { name, arguments: given } = isJsonObject(called) ? called : {};
  if (!isText(name)) return [];
  const callId = isText(id) ? id : `call_${ownId.replace(/[^a-zA-Z0-9]/g, "_")}`;
  const text = typeof given === "string" ? given : JSON.stringify(given ?? {});
  return [plainDraft(toolCall({ callId, name, arguments: text }))];
}

const isText = (value: JsonValue | undefined): value is string => typeof value === "string" && value !== "";
const plainDraft = ({ kind, payload }: Draft): Draft => ({ kind, payload });
