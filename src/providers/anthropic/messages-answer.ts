import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import type { ContentFilter } from "../../domain/events/inference-events.ts";
import type { Answer, Asked, Draft, RecordedAnswer } from "../../engine/stack/codec.ts";
import { contentsOf, draftOf, inputOf } from "./content-blocks.ts";
import { asksForThreads } from "./threads.ts";

/** Reads a message of the model. */
export function readAnswer(response: JsonObject, { settings }: Pick<Asked, "settings">): Answer {
  const { id, content, stop_reason: reason, usage, ...rest } = response;
  const isMessage = isJsonList(content) && content.every(isJsonObject);
  const status = typeof reason === "string" ? reason : null;
  const error = isJsonObject(response["error"]) ? response["error"] : null;
  const kept: Record<string, JsonValue> = {};
  const unread = {
    ...rest,
    ...(typeof id === "string" ? {} : { id }),
    ...(isMessage ? {} : { content }),
    ...(status === null ? { stop_reason: reason } : {}),
  };
  for (const [name, value] of Object.entries(unread)) if (value !== undefined) setMember(kept, name, value);
  return {
    ...{ id: typeof id === "string" ? id : null, status },
    isComplete: error === null && status !== null && !cutShort.has(status),
    ...(typeof id === "string" && asksForThreads(settings) ? { anchor: { kind: "thread", id } } : {}),
    ...(error === null ? {} : { failure: failureIn(error) }),
    blocks: isMessage ? content.map(draftOf) : [],
    ...(usage === undefined ? {} : { usage: { ...tokensIn(usage), reported: usage } }),
    contentFilters: status === "refusal" ? [refusedBy(rest["stop_details"])] : [],
    rest: kept,
  };
}

/** The message that an answer was read from. */
export const writeAnswer = ({ id, status, blocks, usage, rest }: RecordedAnswer): JsonObject => ({
  ...(id === null ? {} : { id }),
  ...(rest["content"] === undefined && (blocks.length > 0 || rest["error"] === undefined)
    ? { content: blocks.flatMap(answerContents) }
    : {}),
  ...(status === null ? {} : { stop_reason: status }),
  ...(usage === undefined ? {} : { usage: usage.reported }),
  ...rest,
});

/** Content as an answer has it: a call that was streamed with the very text of its arguments, where that was written otherwise. */
function answerContents(draft: Draft): readonly JsonObject[] {
  const contents = contentsOf(draft);
  const { arguments: given } = draft.payload;
  if (draft.kind !== "tool_call" || typeof given !== "string") return contents;
  return contents.map((content) => withText(content, given));
}

/**
 * A call with the text of its arguments beside the object that they are, where JSON would be written otherwise. `partial_json` is
 * what the events of a stream call it; a request never has it.
 */
export const withText = (content: JsonObject, text: string): JsonObject =>
  text === JSON.stringify(inputOf(text)) ? content : { ...content, partial_json: text };

/** The answer ended before the model did. */
const cutShort: ReadonlySet<string> = new Set(["max_tokens", "model_context_window_exceeded", "refusal"]);

/** What refused the answer, as far as that is said. */
function refusedBy(details: JsonValue | undefined): ContentFilter {
  const category = isJsonObject(details) ? details["category"] : null;
  const name = typeof category === "string" ? category : "refusal";
  return { source: "completion", blocked: true, results: { [name]: { filtered: true } } };
}

function failureIn({ message, type }: JsonObject): NonNullable<Answer["failure"]> {
  return {
    message: typeof message === "string" ? message : "the provider could not complete the message",
    code: typeof type === "string" ? type : null,
  };
}

/** What a message, or an event of its stream, says that it has cost: what was read from a cache, or written to it, was read too. */
export function tokensIn(usage: JsonValue) {
  const told = isJsonObject(usage) ? usage : {};
  const cached = count(told["cache_read_input_tokens"]);
  const details = isJsonObject(told["output_tokens_details"]) ? told["output_tokens_details"] : {};
  return {
    inputTokens: count(told["input_tokens"]) + count(told["cache_creation_input_tokens"]) + cached,
    cachedInputTokens: cached,
    outputTokens: count(told["output_tokens"]),
    reasoningTokens: count(details["thinking_tokens"]),
  };
}

const count = (value: JsonValue | undefined): number => (typeof value === "number" ? value : 0);
