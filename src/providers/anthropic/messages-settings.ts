import {
  definedMembers,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
} from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { Settings } from "../../engine/ports/codec.ts";
import { outputFormat } from "../codec/output-format.ts";
import { asksForThreads } from "./threads.ts";

/** Adds texts to the instructions, which are a text or a list of texts. */
export function instruct(settings: Settings, texts: readonly string[]): Settings {
  if (texts.length === 0) return settings;
  const own = settings["instructions"] ?? null;
  if (own === null || typeof own === "string")
    return { ...settings, instructions: [...(own === null ? [] : [own]), ...texts].join("\n\n") };
  if (isJsonList(own)) return { ...settings, instructions: [...own, ...texts.map((text) => ({ type: "text", text }))] };
  throw new TurnlogError(
    "instructions-hidden",
    "the instructions are a secret, so turnlog cannot add to them; append the addition as a system message, or leave it out",
  );
}

/**
 * Applies a run's adjustments.
 *
 * @throws {TypeError} for an adjustment that this API cannot express.
 */
export function adjust(settings: Settings, adjustments: Adjustments): Settings {
  const { reasoningEffort, toolChoice, output, maxOutputTokens, parallelToolCalls, temperature, topP, ...named } =
    adjustments;
  const config = objectOf(settings["output_config"]);
  const asked: { readonly [name: string]: JsonValue | undefined } = {
    ...named,
    ...{ temperature, top_p: topP, max_tokens: maxOutputTokens },
    ...(toolChoice === undefined && parallelToolCalls === undefined
      ? {}
      : { tool_choice: toolChoiceOf(objectOf(settings["tool_choice"]), { toolChoice, parallelToolCalls }) }),
    ...(reasoningEffort === undefined ? {} : effortIn(settings, reasoningEffort)),
  };
  if (output !== undefined) {
    const { schema } = outputFormat(output);
    const before = isJsonObject(asked["output_config"]) ? asked["output_config"] : config;
    return merged(settings, { ...asked, output_config: { ...before, format: { type: "json_schema", schema } } });
  }
  return merged(settings, asked);
}

/**
 * The same for the API from version 2026-10-21 on, which has no sampling settings.
 *
 * @throws {TypeError} for `temperature` and `topP` too.
 */
export function adjustUnsampled(settings: Settings, adjustments: Adjustments): Settings {
  const dropped = (["temperature", "topP"] as const).find((name) => adjustments[name] !== undefined);
  if (dropped === undefined) return adjust(settings, adjustments);
  throw new TypeError(
    `the Messages API does not accept ${dropped} since its version 2026-10-21: leave it out, make the provider with an older version (version: "2023-06-01"), or ask another provider`,
  );
}

const merged = (settings: Settings, asked: JsonObject): Settings => ({ ...settings, ...definedMembers(asked) });

const efforts: ReadonlySet<string> = new Set(["low", "medium", "high", "xhigh", "max"]);

function effortIn(settings: Settings, effort: string): JsonObject {
  if (effort === "none" && asksForThreads(settings))
    throw new TypeError(
      "threads do not accept a setting of thinking: leave out the effort 'none', or make the provider without threads",
    );
  if (effort === "none") return { thinking: { type: "disabled" } };
  if (!efforts.has(effort))
    throw new TypeError(
      `the Messages API has no effort '${effort}': give none, ${[...efforts].slice(0, -1).join(", ")} or max`,
    );
  return { output_config: { ...objectOf(settings["output_config"]), effort } };
}

type Asked = { readonly [Name in "toolChoice" | "parallelToolCalls"]: Adjustments[Name] | undefined };

function toolChoiceOf(given: JsonObject, { toolChoice, parallelToolCalls }: Asked): JsonObject {
  const { disable_parallel_tool_use: disabled, ...own } = given;
  const choice = toolChoice === undefined ? { type: "auto", ...own } : choiceOf(toolChoice);
  const isDisabled = parallelToolCalls === undefined ? disabled : !parallelToolCalls;
  // Without calls there is nothing to disable.
  const says = isDisabled !== undefined && choice["type"] !== "none";
  return says ? { ...choice, disable_parallel_tool_use: isDisabled } : choice;
}

function choiceOf(choice: NonNullable<Adjustments["toolChoice"]>): JsonObject {
  if (typeof choice === "object") return { type: "tool", name: choice.tool };
  return { type: choice === "required" ? "any" : choice };
}

/** The settings that belong to the prefix of every message, in the form of the API. */
export function prefixOf({ instructions, tools }: Settings): {
  readonly system?: JsonValue;
  readonly tools?: JsonValue;
} {
  return {
    ...((instructions ?? null) === null || instructions === undefined ? {} : { system: instructions }),
    ...(tools === undefined ? {} : { tools: isJsonList(tools) ? tools.map(toolFor) : tools }),
  };
}

/** A tool in the common form is converted; a tool in the API's own form stays unchanged. */
function toolFor(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || tool["type"] !== undefined || tool["parameters"] === undefined) return tool;
  const { parameters, ...named } = tool;
  return { ...named, input_schema: parameters };
}
