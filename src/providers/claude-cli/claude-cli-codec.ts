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
import { assistant, other, reasoning, toolResult } from "../../domain/make-block.ts";
import { resultParts } from "../../domain/message-content.ts";
import type { Answer, Codec, Draft, RequestParts, Settings } from "../../engine/stack/codec.ts";
import { callDraft, countSaid, plainDraft, usageOf } from "../answers/server-said.ts";
import { defineCodec } from "../codec/define-codec.ts";
import { keptByGoogle } from "../codec/google-files.ts";

/**
 * What is given to the Claude CLI, and what it says (`claude -p` with stream-json). It is an agent: it has its own tools and history, and
 * takes nothing but what the user says. A session of its goes on with the user's next blocks; everything else, a Turn that was edited,
 * that another provider answered, or whose session is lost, is given to a new session as one text, one JSON object a line, and the images
 * that the text names by their place behind it.
 */
export const claudeCliCodec: Codec = defineCodec({
  name: "claude-cli/1",
  // The session keeps its id and goes on: it is continued once from where it stands. Its own answers are the rest of it.
  ownEffects: () => "the model runs its tools by itself",
  anchors: { session: { isLinear: true, takes: ({ kind }) => kind === "user" } },
  ...{ adjust, offer },
  offeredTools: () => [],
  // Only a new session is told what others than the user said.
  restated: ({ kind }) => (kind === "user" ? null : "transcript"),
  unsendableReason,
  unsendablePart: (part, block) => (block.kind === "user" ? keptByGoogle(part) : null) ?? unsendablePart(part, block),
  encodeRequest,
  readAnswer,
  writeAnswer: ({ rest }) => rest,
});

/** What goes to a process: its arguments, and the text of its standard input. */
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
 * The history that another session did not have: one JSON object a line, so that no text is mistaken for another's. A model sees no image
 * in a text: they stand behind it, and the lines say which is where.
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

/** A part as the Messages API has it, which the CLI speaks. */
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
  // A transcript says everything as JSON.
  if (kind !== "user" || part["type"] === "text") return null;
  if (isImage(part)) return null;
  return `the Claude CLI takes texts and images, and no part of type ${JSON.stringify(part["type"])}`;
}

/** What a run asks of it, as far as it has an argument for that. */
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
    `the Claude CLI runs its own tools, and cannot be offered '${first.name}': take it out of createEngine({ tools }), or give it to the CLI by an MCP server (args: ["--mcp-config", …])`,
  );
}

/** Reads the lines that the CLI printed (`{ lines }`), of which the last is the result. */
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

const linesIn = ({ lines }: JsonObject): readonly JsonObject[] => objectsOf(lines);

/** The blocks of a line: what the model said, and what its tools gave. What agents of its own said is theirs. */
export function draftsOf({ type, message, parent_tool_use_id: parent }: JsonObject): readonly Draft[] {
  if ((type !== "assistant" && type !== "user") || (parent ?? null) !== null || !isJsonObject(message)) return [];
  const { content } = message;
  const said: JsonValue = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? null);
  const parts = listOf(said);
  const drafts = parts.filter(isJsonObject).map((part) => (type === "user" ? resultDraft(part) : ownDraft(part)));
  return drafts.flatMap((draft) => draft ?? []);
}

function ownDraft(part: JsonObject): Draft {
  const { type, text, thinking, signature, id, name, input } = part;
  if (type === "text" && typeof text === "string") return plainDraft(assistant(text));
  if (type === "thinking" && typeof thinking === "string")
    return {
      ...plainDraft(reasoning(thinking)),
      ...(typeof signature === "string" ? { wire: { ciphertext: signature } } : {}),
    };
  // The CLI has run its calls itself: one that cannot be read is on record as it came.
  const call = type === "tool_use" && isFilledText(id) ? callDraft({ name, arguments: input }, id) : null;
  return call ?? plainDraft(other(part));
}

/** Null for what is no result: the CLI tells its own reminders as the user's. */
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

/** What a body says to start a process with. */
export function invocationOf(bodyText: string): { readonly args: readonly string[]; readonly stdin: string } {
  const body = parseJson(bodyText);
  const { arguments: args, stdin } = objectOf(body);
  if (!isJsonList(args) || typeof stdin !== "string")
    throw new Error("the body of a request to the Claude CLI has arguments and stdin");
  return { args: args.filter((each) => typeof each === "string"), stdin };
}
