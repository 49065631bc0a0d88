import { definedMembers, isJsonList, type JsonObject, type JsonValue, listOf, objectOf } from "../../base/json.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { AnchorKind } from "../../engine/ports/anchor-kind.ts";
import type { Capabilities, Lesson } from "../../engine/ports/capabilities.ts";
import type { OfferedTool, Refusal, Settings } from "../../engine/ports/codec.ts";
import { instruct as addToText } from "../codec/define-codec.ts";
import { outputFormat } from "../codec/output-format.ts";
import { cacheLesson } from "./cache-members.ts";

/** The `include` that lets a full request send the reasoning back, even if the server stores nothing. */
const encryptedReasoning = "reasoning.encrypted_content";

export function offer(
  settings: Settings,
  { tools: own, capabilities }: { readonly tools: readonly OfferedTool[]; readonly capabilities: Capabilities },
): Settings {
  const tools = [...listOf(settings["tools"]), ...own.map(functionTool)];
  const include = listOf(settings["include"]);
  const canSeal = capabilities["encryptedReasoning"] === true;
  const wanted = canSeal && !include.includes(encryptedReasoning);
  const asked = wanted
    ? [...include, encryptedReasoning]
    : include.filter((each) => canSeal || each !== encryptedReasoning);
  return {
    ...settings,
    ...(tools.length === 0 ? {} : { tools }),
    ...(asked.length === 0 ? {} : { include: asked }),
  };
}

/** Background responses are fetched later, so the server has to store them for a while. */
export const unstored = (settings: Settings): Settings =>
  Object.hasOwn(settings, "store") || settings["background"] === true ? settings : { ...settings, store: false };

/** If instructions are messages (Azure), the texts become further messages. */
export function instruct(settings: Settings, texts: readonly string[]): Settings {
  const own = settings["instructions"];
  if (!isJsonList(own)) return addToText(settings, texts);
  const added = texts.map((content) => ({ type: "message", role: "developer", content }));
  return added.length === 0 ? settings : { ...settings, instructions: [...own, ...added] };
}

export function adjust(settings: Settings, adjustments: Adjustments): Settings {
  const { reasoningEffort, toolChoice, output, topP, maxOutputTokens, parallelToolCalls, ...named } = adjustments;
  const asked: { readonly [name: string]: JsonValue | undefined } = {
    ...named,
    top_p: topP,
    max_output_tokens: maxOutputTokens,
    parallel_tool_calls: parallelToolCalls,
    tool_choice: typeof toolChoice === "object" ? { type: "function", name: toolChoice.tool } : toolChoice,
    reasoning:
      reasoningEffort === undefined ? undefined : { ...objectOf(settings["reasoning"]), effort: reasoningEffort },
    text: output === undefined ? undefined : { ...objectOf(settings["text"]), format: outputFormat(output) },
  };
  return { ...settings, ...definedMembers(asked) };
}

const functionTool = ({ name, description, parameters }: OfferedTool): JsonObject => ({
  ...{ type: "function", name, description, parameters, strict: false },
});

/** Background responses are kept for ten minutes, unless `store` was set (OpenAI's guide to background mode). */
const keptMs = (settings: Settings): number =>
  settings["background"] === true && settings["store"] !== true ? 10 * 60 * 1000 : Number.POSITIVE_INFINITY;

export const anchors: Readonly<Record<string, AnchorKind>> = { response: { keptMs }, conversation: { isObject: true } };

/**
 * A request that is not stored cannot refer to stored items: Azure refuses their ids (as seen). A server that may truncate the context
 * counts only the rest.
 */
export const capable = (capabilities: Capabilities, settings: Settings): Capabilities => ({
  ...capabilities,
  ...(settings["store"] === false && "itemIds" in capabilities ? { itemIds: false } : {}),
  ...(mayShorten(settings) && "counts" in capabilities ? { counts: "none" } : {}),
});

const mayShorten = ({ truncation, context_management: managed }: Settings): boolean =>
  truncation === "auto" || (managed ?? null) !== null;

/** Null if the refusal concerns another included member. The lesson holds for this model only. */
export function lessonOf(refusal: Refusal, settings: Settings): Lesson | null {
  const { kind, param, message } = refusal;
  const aboutCache = cacheLesson(refusal, settings);
  if (aboutCache !== null) return aboutCache;
  const isLane = kind === "invalid-request" && (param === "stream_id" || /'stream_id'/.test(message));
  if (isLane && /^(unknown|unsupported|unrecognized|extra)/i.test(message))
    return { capability: "lanes", reason: message };
  const include = listOf(settings["include"]);
  const named = /^include(?:[[.](\d+)\]?)?$/.exec(param ?? "");
  if (kind !== "invalid-request" || named === null || !include.includes(encryptedReasoning)) return null;
  const [, index] = named;
  const isTold = include.length === 1 || /encrypted/i.test(message);
  const isMeant = index === undefined ? isTold : include[Number(index)] === encryptedReasoning;
  if (!isMeant) return null;
  const { model } = settings;
  const about = typeof model === "string" ? { model } : {};
  return { capability: "encryptedReasoning", reason: message, ...about };
}

/** With `auto`, or without a setting, the model decides (OpenAI's guide to reasoning). */
export const readsReasoning = ({ reasoning }: Settings): "all" | "turn" =>
  objectOf(reasoning)["context"] === "current_turn" ? "turn" : "all";
