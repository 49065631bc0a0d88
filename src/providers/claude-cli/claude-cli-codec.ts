import {
  isFilledText,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  objectsOf,
  parseJson,
  textOrNull,
} from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { Counts } from "../../domain/events/shared.ts";
import { assistant, other, reasoning, toolResult } from "../../domain/make-block.ts";
import { resultParts } from "../../domain/message-content.ts";
import type { Answer, Codec, Draft, RequestParts, Settings } from "../../engine/ports/codec.ts";
import { dollars } from "../answers/counts.ts";
import { callDraft, countSaid, plainDraft, usageOf } from "../answers/server-said.ts";
import { countsIn as messageCounts } from "../anthropic/message-counts.ts";
import { defineCodec } from "../codec/define-codec.ts";
import { keptByGoogle } from "../codec/google-files.ts";

/**
 * The input and output of the Claude CLI (`claude -p` with stream-json). The CLI is an agent with its own tools and history, and takes user
 * input only. A session continues with the user's next blocks. Any other Turn (edited, answered by another provider, or with a lost
 * session) goes to a new session as one text with one JSON object a line, followed by the images that the text numbers.
 */
export const claudeCliCodec: Codec = defineCodec({
  name: "claude-cli/1",
  // A session keeps its id while it grows, so each of its states can be continued once. It has its own answers already.
  ownEffects: () => "the model runs its own tools",
  anchors: { session: { isLinear: true, takes: ({ kind }) => kind === "user" } },
  ...{ adjust, offer },
  offeredTools: () => [],
  // Other roles than the user's are sent to a new session only, in its transcript.
  restated: ({ kind }) => (kind === "user" ? null : "transcript"),
  unsendableReason,
  unsendablePart: (part, block) => (block.kind === "user" ? keptByGoogle(part) : null) ?? unsendablePart(part, block),
  encodeRequest,
  ...{ readAnswer, countsIn },
  writeAnswer: ({ rest }) => rest,
});

/** The arguments and the standard input of the process. */
function encodeRequest({ settings, input, anchor }: RequestParts): string {
  const blocks = input.map(({ block }) => block);
  const content = blocks.every(({ kind }) => kind === "user")
    ? blocks.flatMap(({ parts }) => parts.map(wirePart))
    : transcriptOf(blocks);
  const line = JSON.stringify({ type: "user", message: { role: "user", content } });
  return JSON.stringify({ arguments: argumentsOf(settings, anchor?.id ?? null), stdin: `${line}\n` });
}

function argumentsOf(settings: Settings, session: string | null): readonly string[] {
  const { model, instructions, args } = settings;
  return [
    ...["-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose"],
    ...(session === null ? [] : ["--resume", session]),
    ...(typeof model === "string" ? ["--model", model] : []),
    ...(typeof instructions === "string" ? ["--append-system-prompt", instructions] : []),
    ...(isJsonList(args) ? args.filter((each) => typeof each === "string") : []),
  ];
}

/**
 * The history that a new session lacks, one JSON object a line, so that no text can pass for another block. A model sees no image in a
 * text, so the images follow, and the lines have their numbers.
 */
function transcriptOf(blocks: readonly Block[]): readonly JsonObject[] {
  const images: JsonObject[] = [];
  const shown = (part: JsonObject): JsonObject => {
    if (!isImage(part)) return part;
    images.push(wirePart(part));
    return { type: "image", shown: images.length };
  };
  const lines = blocks.map((block) => JSON.stringify(lineOf(block, shown)));
  const head = images.length === 0 ? transcriptHead : `${transcriptHead} ${imagesHead}`;
  return [{ type: "text", text: [head, ...lines].join("\n") }, ...images];
}

const transcriptHead =
  "This is the conversation so far, one JSON object a line. Go on from its end as the assistant: answer what was said last.";

const imagesHead = "Its images stand behind this text: `shown` is the number of each, from 1.";

function lineOf({ kind, payload, role, parts }: Block, shown: (part: JsonObject) => JsonObject): JsonObject {
  const { callId, name, arguments: given, input, output, content } = payload;
  if (kind === "tool_call") return { call: callId, tool: name, arguments: given ?? input };
  if (kind === "tool_result") return { result: callId, output: resultParts(output)?.map(shown) ?? output };
  const [only] = parts;
  const isPlain = parts.length === 1 && only?.["type"] === "text";
  return { role, ...(isPlain ? { text: only["text"] } : { content: parts.length === 0 ? content : parts.map(shown) }) };
}

/** A part in the form of the Messages API, which the CLI uses. */
function wirePart(part: JsonObject): JsonObject {
  const { type, text, url } = part;
  if (type === "text") return { type, text };
  if (!isImage(part) || typeof url !== "string") return part;
  const [, mediaType, data] = dataUrl.exec(url) ?? [];
  return {
    type: "image",
    source: data === undefined ? { type: "url", url } : { type: "base64", media_type: mediaType, data },
  };
}

const isImage = ({ type, url }: JsonObject): boolean => type === "image" && typeof url === "string";

const dataUrl = /^data:([^;,]+);base64,(.*)$/s;

function unsendableReason({ kind, type, parts }: Block): string | null {
  if (kind === "reasoning") return "the Claude CLI takes no reasoning back: its session has its own";
  if (kind === "other") return `the Claude CLI has nothing like ${type}`;
  if (kind !== "user") return null;
  return parts.map((part) => unsendablePart(part, { kind })).find((reason) => reason !== null) ?? null;
}

function unsendablePart(part: JsonObject, { kind }: Pick<Block, "kind">): string | null {
  // A transcript sends everything as JSON.
  if (kind !== "user" || part["type"] === "text") return null;
  if (isImage(part)) return null;
  return `the Claude CLI takes texts and images, and no part of type ${JSON.stringify(part["type"])}`;
}

/** Applies the adjustments that the CLI has an argument for. */
function adjust(settings: Settings, { model, instructions, ...others }: Adjustments): Settings {
  const [first] = Object.keys(others);
  if (first !== undefined)
    throw new TypeError(`the Claude CLI has no counterpart of ${first}: leave it out, or ask another provider`);
  return {
    ...settings,
    ...(model === undefined ? {} : { model }),
    ...(instructions === undefined ? {} : { instructions }),
  };
}

function offer(settings: Settings, { tools }: Parameters<Codec["offer"]>[1]): Settings {
  const [first] = tools;
  if (first === undefined) return settings;
  throw new TypeError(
    `the Claude CLI runs only its own tools, not '${first.name}': remove it from createEngine({ tools }), or give it to the CLI through an MCP server (args: ["--mcp-config", …])`,
  );
}

/** Reads the lines that the CLI printed (`{ lines }`); the last one is the result. */
function readAnswer(response: JsonObject): Answer {
  const lines = linesIn(response);
  const result = lines.findLast(({ type }) => type === "result") ?? {};
  const { subtype, session_id: session, usage } = result;
  const isComplete = subtype === "success" && result["is_error"] !== true;
  const failed = typeof result["result"] === "string" ? result["result"] : "the Claude CLI could not answer";
  return {
    id: null,
    status: textOrNull(subtype),
    isComplete,
    ...(typeof session !== "string" ? {} : { anchor: anchorOf(session, isComplete) }),
    ...(result["is_error"] === true ? { failure: { message: failed, code: null } } : {}),
    blocks: lines.flatMap(draftsOf),
    ...usageOf(usage, tokensIn),
    rest: response,
  };
}

const anchorOf = (id: string, isComplete: boolean) => ({
  ...{ kind: "session", id },
  ...(isComplete ? {} : { unusable: "incomplete" }),
});

/** The lines of an answer. A failure has the result alone. */
const linesIn = (response: JsonObject): readonly JsonObject[] =>
  response["type"] === "result" ? [response] : objectsOf(response["lines"]);

/** The blocks of a line: the model's output, and the results of its tools. The output of subagents is left out. */
export function draftsOf(line: JsonObject): readonly Draft[] {
  const { type, message } = line;
  if ((type !== "assistant" && type !== "user") || isOfSubagent(line) || !isJsonObject(message)) return [];
  const { content } = message;
  const said: JsonValue = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? null);
  const parts = listOf(said);
  const drafts = parts.filter(isJsonObject).map((part) => (type === "user" ? resultDraft(part) : ownDraft(part)));
  return drafts.flatMap((draft) => draft ?? []);
}

const isOfSubagent = ({ parent_tool_use_id: parent }: JsonObject): boolean => (parent ?? null) !== null;

function ownDraft(part: JsonObject): Draft {
  const { type, text, thinking, signature, id, name, input } = part;
  if (type === "text" && typeof text === "string") return plainDraft(assistant(text));
  if (type === "thinking" && typeof thinking === "string")
    return {
      ...plainDraft(reasoning(thinking)),
      ...(typeof signature === "string" ? { wire: { ciphertext: signature } } : {}),
    };
  // The CLI has executed its calls itself: an unreadable one is recorded as it came.
  const call = type === "tool_use" && isFilledText(id) ? callDraft({ name, arguments: input }, id) : null;
  return call ?? plainDraft(other(part));
}

/** Null for other content: the CLI sends its own reminders as the user's. */
function resultDraft({ type, tool_use_id: callId, content = "" }: JsonObject): Draft | null {
  if (type !== "tool_result" || typeof callId !== "string" || callId === "") return null;
  const isTexts = isJsonList(content) && content.every((part) => isJsonObject(part) && part["type"] === "text");
  const output: JsonValue = typeof content === "string" || isTexts ? content : JSON.stringify(content);
  return plainDraft(toolResult({ callId, output }));
}

function tokensIn(usage: JsonValue) {
  const told = objectOf(usage);
  const cached = countSaid(told["cache_read_input_tokens"]);
  return {
    inputTokens: countSaid(told["input_tokens"]) + countSaid(told["cache_creation_input_tokens"]) + cached,
    cachedInputTokens: cached,
    outputTokens: countSaid(told["output_tokens"]),
  };
}

/** The counts of an answer by price class, and the CLI's own estimate of its cost. */
function countsIn(usage: JsonValue, response: JsonObject): Counts {
  const lines = linesIn(response);
  const { modelUsage: models, total_cost_usd: cost } = lines.findLast(({ type }) => type === "result") ?? {};
  const [only, ...others] = Object.keys(objectOf(models));
  const { message } = lines.findLast((line) => line["type"] === "assistant" && !isOfSubagent(line)) ?? {};
  const model = objectOf(message)["model"] ?? (others.length === 0 ? only : undefined);
  const usd = dollars(cost);
  return { ...messageCounts(usage, model === undefined ? {} : { model }), ...(usd === undefined ? {} : { usd }) };
}

/** The invocation of the process that a body describes. */
export function invocationOf(bodyText: string): { readonly args: readonly string[]; readonly stdin: string } {
  const body = parseJson(bodyText);
  const { arguments: args, stdin } = objectOf(body);
  if (!isJsonList(args) || typeof stdin !== "string")
    throw new Error("the body of a request to the Claude CLI has arguments and stdin");
  return { args: args.filter((each) => typeof each === "string"), stdin };
}
