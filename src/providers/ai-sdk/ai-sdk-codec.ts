import {
  definedMembers,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  objectOf,
  objectsOf,
  textOrNull,
} from "../../base/json.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { Counts } from "../../domain/events/shared.ts";
import type { Answer, AnswerContext, Codec, RecordedAnswer, RequestParts, Settings } from "../../engine/ports/codec.ts";
import { counts, countTold, nameTold, sumWritten, writtenByAnthropic, writtenTold } from "../answers/counts.ts";
import { callIdIn, countSaid, failureOfCalls, usageOf } from "../answers/server-said.ts";
import { defineCodec } from "../codec/define-codec.ts";
import { outputFormat } from "../codec/output-format.ts";
import { draftOf, isCall, isReadAgain, partOf } from "./content.ts";
import { partRefusal, promptOf, refusalOf } from "./prompt.ts";

/**
 * The input and output of a model of the AI SDK (`LanguageModelV4CallOptions` and `LanguageModelV4GenerateResult` of `@ai-sdk/provider` 4).
 * The request body is the JSON text of its call options.
 */
export const aiSdkCodec: Codec = defineCodec({
  name: "ai-sdk/1",
  resultsStandTogether: true,
  adjust,
  // The AI SDK has no developer role.
  restated: ({ role }) => (role === "developer" ? "role" : null),
  unsendableReason: refusalOf,
  unsendablePart: partRefusal,
  encodeRequest,
  ...{ readAnswer, writeAnswer, countsIn },
});

function encodeRequest({ settings, input }: RequestParts): string {
  const { instructions, tools, ...members } = settings;
  const said = promptOf(input.map(({ block }) => block));
  const told = instructions ?? null;
  return JSON.stringify({
    ...members,
    ...(isJsonList(tools) ? { tools: tools.map(toolFor) } : {}),
    prompt: told === null ? said : [{ role: "system", content: told }, ...said],
  });
}

/** A tool in the common form is converted; a tool in the AI SDK's form stays unchanged. */
function toolFor(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || tool["type"] !== undefined) return tool;
  const { name, description, parameters } = tool;
  return { type: "function", name, description, inputSchema: parameters };
}

function adjust(settings: Settings, adjustments: Adjustments): Settings {
  const { model, parallelToolCalls, reasoningEffort, toolChoice, output, ...named } = adjustments;
  if (model !== undefined && model !== settings["model"])
    throw new TypeError(`aiSdk was given one model as an object: make another provider for ${model}`);
  if (parallelToolCalls !== undefined)
    throw new TypeError("the AI SDK has no parallelToolCalls: set it in aiSdk's providerOptions");
  const asked: JsonObject = {
    ...named,
    reasoning: reasoningEffort,
    toolChoice: toolChoiceOf(toolChoice),
    responseFormat: output === undefined ? undefined : formatOf(output),
  };
  return { ...settings, ...definedMembers(asked) };
}

const toolChoiceOf = (choice: Adjustments["toolChoice"]): JsonObject | undefined => {
  if (choice === undefined) return undefined;
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
};

function formatOf(output: JsonObject): JsonObject {
  const { name, schema } = outputFormat(output);
  return { type: "json", name, schema };
}

function readAnswer(result: JsonObject, { inferenceId }: AnswerContext): Answer {
  const { content, finishReason, usage, ...rest } = result;
  const { unified, raw } = objectOf(finishReason);
  const parts = listOf(content);
  const strays = parts.flatMap((value, index) => (isPart(value) ? [] : [{ index, value }]));
  const { id } = objectOf(rest["response"]);
  const status = textOrNull(unified);
  const failed = { message: "the model ended with an error", code: textOrNull(raw) };
  const said = parts.filter(isPart);
  const blocks = said.map((part, place) => draftOf(part, callIdIn(part["toolCallId"], inferenceId, place)));
  const unread = said.filter((part, place) => isCall(part) && blocks[place]?.kind !== "tool_call");
  // A model of V3 reports `other`, without the provider's own reason, for a stream that was cut off.
  const isWhole = status === "stop" || status === "tool-calls" || (status === "other" && typeof raw === "string");
  const failure = status === "error" ? failed : failureOfCalls(unread, { isWhole });
  return {
    id: textOrNull(id),
    status,
    isComplete: failure === null && isWhole,
    ...(failure === null ? {} : { failure }),
    blocks,
    ...usageOf(usage, tokensIn),
    rest: {
      ...rest,
      ...(finishReason === undefined || isPlainReason(finishReason) ? {} : { finishReason }),
      ...(isPlainReason(finishReason) && raw !== undefined ? { raw } : {}),
      ...(strays.length === 0 ? {} : { strays }),
      // Content that is not a list of parts stays as it is.
      ...(content === undefined ? { hasContent: false } : isJsonList(content) ? {} : { content }),
    },
  };
}

function writeAnswer({ status, blocks, usage, rest }: RecordedAnswer): JsonObject {
  const { hasContent, content, strays, raw, finishReason, ...members } = rest;
  const reason = status === null ? {} : { finishReason: { unified: status, ...(raw === undefined ? {} : { raw }) } };
  return {
    ...(hasContent === false ? {} : { content: content === undefined ? contentOf(blocks, strays) : content }),
    ...(finishReason === undefined ? reason : { finishReason }),
    ...(usage === undefined ? {} : { usage: usage.reported }),
    ...members,
  };
}

const isPart = (value: JsonValue): value is JsonObject => isJsonObject(value) && isReadAgain(value);

/** Restores the parts that blocks were made of, with the other values between them. */
function contentOf(blocks: RecordedAnswer["blocks"], strays: JsonValue | undefined): readonly JsonValue[] {
  const content: JsonValue[] = blocks.map(partOf);
  for (const stray of objectsOf(strays))
    if (typeof stray["index"] === "number") content.splice(stray["index"], 0, stray["value"] ?? null);
  return content;
}

/** Whether `{ unified, raw }` is the complete reason. */
const isPlainReason = (reason: JsonValue | undefined): boolean =>
  isJsonObject(reason) &&
  typeof reason["unified"] === "string" &&
  Object.keys(reason).every((name) => name === "unified" || name === "raw");

function tokensIn(usage: JsonValue) {
  const told = objectOf(usage);
  const input = objectOf(told["inputTokens"]);
  const output = objectOf(told["outputTokens"]);
  return {
    inputTokens: countSaid(input["total"]),
    cachedInputTokens: countSaid(input["cacheRead"]),
    outputTokens: countSaid(output["total"]),
    reasoningTokens: countSaid(output["reasoning"]),
  };
}

/** The counts of an answer by price class. `raw` is the provider's own report, which may have the lifetimes of what was written. */
function countsIn(usage: JsonValue, { response }: JsonObject): Counts {
  const told = objectOf(usage);
  const input = objectOf(told["inputTokens"]);
  const output = objectOf(told["outputTokens"]);
  const written = countTold(input["cacheWrite"]);
  const byLifetime = writtenByAnthropic(objectOf(told["raw"]));
  return counts({
    input: countTold(input["total"]),
    cacheRead: countTold(input["cacheRead"]),
    cacheWritten: written !== undefined && written === sumWritten(byLifetime) ? byLifetime : writtenTold(written),
    output: countTold(output["total"]),
    reasoning: countTold(output["reasoning"]),
    served: nameTold(objectOf(response)["modelId"]),
  });
}
