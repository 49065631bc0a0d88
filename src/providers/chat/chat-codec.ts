import {
  definedMembers,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
} from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { Codec, RequestParts, Settings } from "../../engine/ports/codec.ts";
import { breakpointsSetting } from "../caching/cache-breakpoints.ts";
import { defineCodec, offeredFunctions } from "../codec/define-codec.ts";
import { keptByGoogle } from "../codec/google-files.ts";
import { outputFormat } from "../codec/output-format.ts";
import { countsIn, readAnswer, writeAnswer } from "./chat-answer.ts";
import { breakpointHooks, withBreakpoints } from "./chat-breakpoints.ts";
import { type ChatDialect, type ChatDialectName, chatDialects } from "./chat-dialects.ts";
import { isSigned, unsigned } from "./chat-extras.ts";
import { callIdFor, endedMessages, partRefusal, refusalOf, restated } from "./chat-messages.ts";

/**
 * Makes a codec for another server with a dialect of Chat Completions. Use it with `postJson` or another transport.
 *
 * @throws {TypeError} if the name of the dialect's codec has no version, as in `my-server/1`.
 */
export const defineChatCodec = (dialect: ChatDialect): Codec =>
  defineCodec({
    name: dialect.codec,
    resultsStandTogether: true,
    callIdFor: (callId) => callIdFor(callId, dialect),
    restated: (block, before) => restated(block, before, dialect),
    offeredTools: offeredFunctions,
    adjust: (settings, adjustments) => adjust(settings, adjustments, dialect),
    unsendableReason: (block: Block) => refusalOf(block, dialect),
    standInRule: (block, { isForeign }) => (isForeign && isSigned(block) ? "foreign-signature" : null),
    unsendablePart: (part, block) =>
      keptByGoogle(part) ?? partRefusal(part, block, dialect.codec.replace(/\/[^/]*$/, "")),
    ...breakpointHooks(dialect),
    encodeRequest: (parts) => encodeRequest(parts, dialect),
    countsIn,
    readAnswer: (response, asked) => readAnswer(response, asked, dialect),
    writeAnswer: (answer) => writeAnswer(answer, dialect),
  });

/** The codecs of Chat Completions, by the dialect of the server. */
export const chatCodecs: Readonly<Record<ChatDialectName, Codec>> = {
  openai: defineChatCodec(chatDialects.openai),
  deepseek: defineChatCodec(chatDialects.deepseek),
  mistral: defineChatCodec(chatDialects.mistral),
  groq: defineChatCodec(chatDialects.groq),
  openrouter: defineChatCodec(chatDialects.openrouter),
  "gemini-openai": defineChatCodec(chatDialects["gemini-openai"]),
  vllm: defineChatCodec(chatDialects.vllm),
  "llama.cpp": defineChatCodec(chatDialects["llama.cpp"]),
  ollama: defineChatCodec(chatDialects.ollama),
};

function encodeRequest({ settings, input, transport, details = {} }: RequestParts, dialect: ChatDialect): string {
  const { instructions, tools, stream_options: streaming, [breakpointsSetting]: _, ...members } = settings;
  const said = endedMessages(
    input.map(({ block, standIn = false }) => (standIn ? unsigned(block) : block)),
    dialect,
  );
  const told = instructions ?? null;
  const all = told === null ? said : [{ message: { role: "system", content: told }, end: 0 }, ...said];
  const marked = withBreakpoints(all, dialect, { settings, details });
  const messages =
    dialect.wantsThoughts === true && offeredFunctions(settings).length > 0 ? marked.map(withThoughts) : marked;
  return JSON.stringify({
    ...members,
    ...(tools === undefined ? {} : { tools: isJsonList(tools) ? tools.map(toolFor) : tools }),
    messages,
    ...(transport === "sse" ? { stream: true } : {}),
    ...(transport === "sse" && streaming !== false
      ? { stream_options: { include_usage: true, ...objectOf(streaming) } }
      : {}),
  });
}

/** An edited message, or another model's, has no reasoning of this model: the member is sent empty. */
const withThoughts = (message: JsonObject): JsonObject =>
  message["role"] === "assistant" && message["reasoning_content"] === undefined
    ? { ...message, reasoning_content: "" }
    : message;

/** A tool in the common form is converted; a tool in the form of the wire stays unchanged. */
function toolFor(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || tool["type"] !== undefined) return tool;
  const { name, description, parameters } = tool;
  return { type: "function", function: { name, description, parameters } };
}

function adjust(settings: Settings, adjustments: Adjustments, { outputLimit }: ChatDialect): Settings {
  const { reasoningEffort, toolChoice, output, topP, maxOutputTokens, parallelToolCalls, ...named } = adjustments;
  const asked: JsonObject = {
    ...named,
    top_p: topP,
    [outputLimit]: maxOutputTokens,
    parallel_tool_calls: parallelToolCalls,
    reasoning_effort: reasoningEffort,
    tool_choice:
      typeof toolChoice === "object" ? { type: "function", function: { name: toolChoice.tool } } : toolChoice,
    response_format: output === undefined ? undefined : formatOf(output),
  };
  return { ...settings, ...definedMembers(asked) };
}

function formatOf(output: JsonObject): JsonObject {
  const { type, ...schema } = outputFormat(output);
  return { type, json_schema: schema };
}
