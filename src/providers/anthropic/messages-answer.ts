import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOrEmpty,
  textOrNull,
} from "../../base/json.ts";
import type { ContentFilter, Withheld } from "../../domain/events/inference-events.ts";
import type { Answer, AnswerContext, Draft, RecordedAnswer } from "../../engine/ports/codec.ts";
import {
  callDraft,
  callIdIn,
  countSaid,
  failureOfCalls,
  takeText,
  usageOf,
  withTexts,
} from "../answers/server-said.ts";
import { asItCame, contentsOf, draftAsSaid, draftOfAll, inContainer, inputOf } from "./content-blocks.ts";
import { isEmptyText } from "./content-parts.ts";
import { countedIn } from "./message-counts.ts";
import { asksForThreads } from "./threads.ts";

/** Reads a message of the model. */
export function readAnswer(
  response: JsonObject,
  { settings, inferenceId }: Pick<AnswerContext, "settings" | "inferenceId">,
): Answer {
  const { text: id, others } = takeText(response, "id");
  const { text: status, others: members } = takeText(others, "stop_reason");
  const { content, usage, ...rest } = members;
  const isMessage = isJsonList(content) && content.every(isJsonObject);
  const contents = objectsOf(content);
  const drafts = contents.map((each, place) => draftSaid(each, inferenceId, place));
  const unread = contents.filter(({ type }, place) => type === "tool_use" && drafts[place]?.kind !== "tool_call");
  const isWhole = status !== null && !cutShort.has(status);
  const failure = isJsonObject(response["error"]) ? failureIn(response["error"]) : failureOfCalls(unread, { isWhole });
  return {
    ...{ id, status },
    ...(status === "pause_turn" ? { isPaused: true } : {}),
    isComplete: failure === null && isWhole,
    ...(id !== null && asksForThreads(settings) ? { anchor: threadOf(id, contents) } : {}),
    ...(failure === null ? {} : { failure }),
    blocks: inContainer(drafts, rest["container"]),
    ...usageOf(usage, tokensIn),
    withheld: objectsOf(rest["input_transformations"]).flatMap(withheldBy),
    contentFilters: status === "refusal" ? [refusedBy(rest["stop_details"])] : [],
    rest: { ...rest, ...(isMessage ? {} : strayContent(content, rest["error"])) },
  };
}

/** The draft of a content block. A block that requests send differently is kept in their form, with what the server sent in its residue. */
function draftSaid(content: JsonObject, inferenceId: string, place: number): Draft {
  const { type, id, name, input, partial_json: streamed } = content;
  if (type === "text") return draftAsSaid(withTexts(content, ["text"]), content);
  if (type === "thinking" && typeof content["signature"] === "string")
    return draftAsSaid(withTexts(content, ["thinking"]), content);
  if (type !== "tool_use") return draftAsSaid(content, content);
  const given = typeof streamed === "string" ? streamed : input;
  const call = callDraft({ name, arguments: given }, callIdIn(id, inferenceId, place));
  if (call === null) return draftOfAll("other", [content]);
  const { callId, arguments: text } = call.payload;
  const { partial_json: _, ...others } = content;
  if (isJsonObject(input))
    return draftAsSaid({ ...(typeof streamed === "string" ? content : others), id: callId }, content);
  return draftAsSaid(withText({ ...others, id: callId, input: inputOf(text) }, textOrEmpty(text)), content);
}

/** Thinking that the server withheld from the model; thinking that it allowed anyway (`thinking_mismatch_allowed`) does not count. */
const withheldBy = ({ type, reason }: JsonObject): readonly Withheld[] =>
  type !== "thinking_dropped"
    ? []
    : [
        {
          itemId: null,
          reason:
            textOrEmpty(reason)
              .replace(/_binding_mismatch$/, "")
              .replaceAll("_", "-") || "unknown",
        },
      ];

/**
 * The anchor of an answer. Only the last message may be empty or have an empty text, so a thread that ends with such an answer cannot be
 * continued.
 */
const threadOf = (id: string, content: readonly JsonObject[]) => ({
  ...{ kind: "thread", id },
  ...(content.length === 0 || content.some(isEmptyText) ? { unusable: "says-nothing" } : {}),
});

/** Keeps content that is not a list. Marks missing content, except in an error, which has none. */
function strayContent(content: JsonValue | undefined, error: JsonValue | undefined): JsonObject {
  if (content !== undefined) return { content };
  return error === undefined ? { hasContent: false } : {};
}

/** Restores the message that an answer was read from. */
export const writeAnswer = ({
  id,
  status,
  blocks,
  usage,
  rest: { hasContent, ...rest },
}: RecordedAnswer): JsonObject => ({
  ...(id === null ? {} : { id }),
  ...(hasContent !== false && rest["content"] === undefined && (blocks.length > 0 || rest["error"] === undefined)
    ? { content: blocks.flatMap(answerContents) }
    : {}),
  ...(status === null ? {} : { stop_reason: status }),
  ...(usage === undefined ? {} : { usage: usage.reported }),
  ...rest,
});

/** The content of an answer: a streamed call has the original text of its arguments if JSON would be written differently. */
function answerContents(draft: Draft): readonly JsonObject[] {
  const contents = contentsOf(draft);
  const { arguments: given } = draft.payload;
  const isCall = draft.kind === "tool_call" && typeof given === "string";
  return contents.map((content) => asItCame(draft, isCall ? withText(content, given) : content));
}

/**
 * Adds the text of a call's arguments beside the object if JSON would be written differently. The name `partial_json` is that of the
 * stream's events; a request never has it.
 */
export const withText = (content: JsonObject, text: string): JsonObject =>
  text === JSON.stringify(inputOf(text)) ? content : { ...content, partial_json: text };

/** The answer ended before the model had finished. */
const cutShort: ReadonlySet<string> = new Set(["max_tokens", "model_context_window_exceeded", "refusal"]);

/** Who refused the answer, as far as the server says. */
function refusedBy(details: JsonValue | undefined): ContentFilter {
  const category = isJsonObject(details) ? details["category"] : null;
  const name = typeof category === "string" ? category : "refusal";
  return { source: "completion", blocked: true, results: { [name]: { filtered: true } } };
}

function failureIn({ message, type }: JsonObject): NonNullable<Answer["failure"]> {
  return {
    message: typeof message === "string" ? message : "the provider could not complete the message",
    code: textOrNull(type),
  };
}

/** The usage that a message, or an event of its stream, reports. Input read from a cache or written to it counts as input. */
export function tokensIn(usage: JsonValue) {
  const told = objectOf(usage);
  const parts = countedIn(told);
  const sumOf = (name: string): number => parts.reduce((sum, counts) => sum + countSaid(counts[name]), 0);
  const details = objectOf(told["output_tokens_details"]);
  const cached = sumOf("cache_read_input_tokens");
  return {
    inputTokens: sumOf("input_tokens") + sumOf("cache_creation_input_tokens") + cached,
    cachedInputTokens: cached,
    outputTokens: sumOf("output_tokens"),
    reasoningTokens: countSaid(details["thinking_tokens"]),
  };
}
