import { definedMembers, isJsonList, isJsonObject, type JsonValue, objectOf } from "../../base/json.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { Codec, RequestParts, Settings } from "../../engine/ports/codec.ts";
import { defineCodec, offeredFunctions } from "../codec/define-codec.ts";
import { countsIn, readAnswer, writeAnswer } from "./ollama-answer.ts";
import { messagesOf, partRefusal, refusalOf, restated } from "./ollama-messages.ts";

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
