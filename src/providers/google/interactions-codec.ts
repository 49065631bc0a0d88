import {
  definedMembers,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  setMember,
} from "../../base/json.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { RequestParts, Settings } from "../../engine/ports/codec.ts";
import { defineCodec } from "../codec/define-codec.ts";
import { partRefusal, refusalOf, restatedRule } from "./gemini-parts.ts";
import { refuseOneByOne, thinkingLevels } from "./gemini-settings.ts";
import { countsIn, readAnswer, writeAnswer } from "./interaction-answer.ts";
import { isSaidAsJson, isSignedStep, stepsOf } from "./interaction-steps.ts";

/** The steps of Google's Interactions API. A stored interaction can be continued by its id any number of times. */
export const interactionsCodec = defineCodec({
  name: "google-interactions/1",
  anchors: { interaction: {} },
  ...{ resultsStandTogether: true, namesCalls: true },
  ...{ adjust, unstored, readAnswer, writeAnswer, countsIn },
  restated: (block) => (isSaidAsJson(block) ? "result-as-json" : restatedRule(block)),
  unsendableReason: refusalOf,
  unsendablePart: partRefusal,
  standInRule: (block, { isForeign }) => (isForeign && isSignedStep(block) ? "foreign-signature" : null),
  encodeRequest,
});

function encodeRequest({ settings, input, anchor, transport }: RequestParts): string {
  return JSON.stringify({
    ...bodySettings(settings),
    ...(anchor === null ? {} : { previous_interaction_id: anchor.id }),
    input: stepsOf(input),
    ...(transport === "sse" ? { stream: true } : {}),
  });
}

/**
 * The members of the request body that settings make: `instructions` become `system_instruction`, tools by name become functions. Every
 * request sends all of them, because an interaction inherits none. Frozen with the codec, because old request bodies are rebuilt with it.
 */
function bodySettings({ instructions, tools, ...members }: Settings): JsonObject {
  const body: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(members)) {
    if (ownMembers.has(name)) throw new Error(`settings cannot hold ${name}: the engine decides it`);
    if (value !== undefined) setMember(body, name, value);
  }
  if (instructions !== undefined && instructions !== null) body["system_instruction"] = instructions;
  const offered = isJsonList(tools) ? tools.map(toolFor) : tools;
  if (offered !== undefined && !(isJsonList(offered) && offered.length === 0)) body["tools"] = offered;
  return body;
}

const ownMembers: ReadonlySet<string> = new Set(["input", "previous_interaction_id", "stream"]);

/** A tool in the common form as a function; a tool in Google's own form stays unchanged. */
const toolFor = (tool: JsonValue): JsonValue =>
  isJsonObject(tool) && tool["type"] === undefined ? { type: "function", ...tool } : tool;

/** Has Google store nothing, unless the settings say otherwise. */
function unstored(settings: Settings): Settings {
  return settings["store"] === undefined ? { ...settings, store: false } : settings;
}

function adjust(settings: Settings, adjustments: Adjustments): Settings {
  const { model, instructions, toolChoice, output, reasoningEffort, parallelToolCalls, ...limits } = adjustments;
  refuseOneByOne(parallelToolCalls);
  const { temperature, topP, maxOutputTokens } = limits;
  const generation = definedMembers({
    ...{ temperature, top_p: topP, max_output_tokens: maxOutputTokens },
    thinking_level: reasoningEffort === undefined ? undefined : levelFor(reasoningEffort),
    tool_choice: toolChoice === undefined ? undefined : choiceFor(toolChoice),
  });
  const { generation_config: own = {} } = settings;
  return {
    ...settings,
    ...definedMembers({ model, instructions }),
    ...(output === undefined
      ? {}
      : { response_format: { type: "text", mime_type: "application/json", schema: output } }),
    ...(Object.keys(generation).length === 0 ? {} : { generation_config: { ...objectOf(own), ...generation } }),
  };
}

function choiceFor(choice: NonNullable<Adjustments["toolChoice"]>): JsonValue {
  if (typeof choice === "object") return { allowed_tools: { mode: "any", tools: [choice.tool] } };
  const own = choices.get(choice);
  if (own !== undefined) return own;
  throw new TypeError(`toolChoice is '${choice}': Gemini accepts auto, none, required, or { tool }`);
}

const choices: ReadonlyMap<string, string> = new Map([
  ["auto", "auto"],
  ["none", "none"],
  ["required", "any"],
]);

function levelFor(effort: string): string {
  if (thinkingLevels.has(effort)) return effort;
  throw new TypeError(`reasoningEffort is '${effort}': interactions accept ${[...thinkingLevels].join(", ")}`);
}
