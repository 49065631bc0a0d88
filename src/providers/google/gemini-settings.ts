import {
  definedMembers,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  omitMembers,
  setMember,
  textOrEmpty,
} from "../../base/json.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { Settings } from "../../engine/ports/codec.ts";

/**
 * The members of the request body that settings make: `instructions` become `systemInstruction`, tools by name become function
 * declarations, and the model is part of the address. Frozen with the codec, because old request bodies are rebuilt with it.
 */
export function bodySettings({ model: _, instructions, tools, ...members }: Settings): JsonObject {
  const body: Record<string, JsonValue> = {};
  if (instructions !== undefined && instructions !== null)
    body["systemInstruction"] = { parts: (isJsonList(instructions) ? instructions : [instructions]).map(asPart) };
  const offered = isJsonList(tools) ? toolsFor(tools) : tools;
  if (offered !== undefined && !(isJsonList(offered) && offered.length === 0)) body["tools"] = offered;
  for (const [name, value] of Object.entries(members)) {
    if (ownMembers.has(name)) throw new Error(`settings cannot hold ${name}: the engine decides it`);
    if (value !== undefined) setMember(body, name, value);
  }
  return body;
}

const asPart = (text: JsonValue): JsonObject => ({ text });

/** Adds each text as a part. */
export function instruct(settings: Settings, texts: readonly string[]): Settings {
  const { instructions = null } = settings;
  if (texts.length === 0) return settings;
  const own = instructions === null ? [] : isJsonList(instructions) ? instructions : [instructions];
  return { ...settings, instructions: own.length + texts.length === 1 ? (texts[0] ?? null) : [...own, ...texts] };
}

const ownMembers: ReadonlySet<string> = new Set(["contents"]);

/** Tools in the common form are declared together; tools in Gemini's own form stay unchanged. */
function toolsFor(tools: readonly JsonValue[]): readonly JsonValue[] {
  const named = tools.filter(isJsonObject).filter(isOffered);
  const others = tools.filter((tool) => !isJsonObject(tool) || !isOffered(tool));
  if (named.length === 0) return others;
  const functionDeclarations = named.map(({ name, description, parameters }) => ({
    ...{ name, description },
    ...(parameters === undefined ? {} : { parametersJsonSchema: parameters }),
  }));
  return [...others, { functionDeclarations }];
}

const isOffered = ({ name }: JsonObject): boolean => typeof name === "string";

/** The names of all declared functions. */
export function offeredTools({ tools }: Settings): readonly string[] {
  return objectsOf(tools).flatMap((tool) => {
    const { functionDeclarations: declared } = tool;
    const functions = isJsonList(declared) ? declared.filter(isJsonObject) : [tool];
    return functions.flatMap(({ name }) => (typeof name === "string" ? [name] : []));
  });
}

export function adjust(settings: Settings, adjustments: Adjustments): Settings {
  const { model, instructions, toolChoice, output, reasoningEffort, parallelToolCalls, ...limits } = adjustments;
  refuseOneByOne(parallelToolCalls);
  const asked = model ?? textOrEmpty(settings["model"]);
  const generation: JsonObject = {
    ...limits,
    ...(output === undefined ? {} : { responseMimeType: "application/json", responseJsonSchema: output }),
    ...(reasoningEffort === undefined
      ? {}
      : { thinkingConfig: thinkingFor(settings, { model: asked, reasoningEffort }) }),
  };
  return {
    ...settings,
    ...definedMembers({ model, instructions }),
    ...(Object.keys(generation).length === 0
      ? {}
      : { generationConfig: { ...objectOf(settings["generationConfig"]), ...generation } }),
    ...(toolChoice === undefined
      ? {}
      : { toolConfig: { ...objectOf(settings["toolConfig"]), functionCallingConfig: callingFor(toolChoice) } }),
  };
}

/** @throws {TypeError} if calls are wanted one at a time, which neither Google API can ask for. */
export function refuseOneByOne(parallelToolCalls: boolean | undefined): void {
  if (parallelToolCalls === false)
    throw new TypeError("parallelToolCalls: Gemini has no such setting: leave it out, or answer its calls one by one");
}

function callingFor(choice: NonNullable<Adjustments["toolChoice"]>): JsonObject {
  if (typeof choice === "object") return { mode: "ANY", allowedFunctionNames: [choice.tool] };
  const mode = callingModes.get(choice);
  if (mode !== undefined) return { mode };
  throw new TypeError(`toolChoice is '${choice}': Gemini accepts auto, none, required, or { tool }`);
}

const callingModes: ReadonlyMap<string, string> = new Map([
  ["auto", "AUTO"],
  ["none", "NONE"],
  ["required", "ANY"],
]);

type Effort = { readonly model: string; readonly reasoningEffort: string };

/** Gemini 3 takes a level; 2.5 takes tokens, with the numbers of Google's OpenAI-compatible API for the same levels. */
function thinkingFor(settings: Settings, { model, reasoningEffort: effort }: Effort): JsonObject {
  const given = objectOf(objectOf(settings["generationConfig"])["thinkingConfig"]);
  const own = omitMembers(given, new Set(["thinkingLevel", "thinkingBudget"]));
  if (/gemini-2\.5/.test(model)) {
    const thinkingBudget = budgets.get(effort);
    if (thinkingBudget !== undefined) return { ...own, thinkingBudget };
  } else if (thinkingLevels.has(effort)) return { ...own, thinkingLevel: effort };
  const known = [...(/gemini-2\.5/.test(model) ? budgets.keys() : thinkingLevels)].join(", ");
  throw new TypeError(`reasoningEffort is '${effort}': ${model} accepts ${known}`);
}

export const thinkingLevels: ReadonlySet<string> = new Set(["minimal", "low", "medium", "high"]);
const budgets: ReadonlyMap<string, number> = new Map([
  ["none", 0],
  ["minimal", 1_024],
  ["low", 1_024],
  ["medium", 8_192],
  ["high", 24_576],
]);

/** Whether the model rejects calls of the current turn without a signature: Gemini 3 and later. */
export function checksSignatures({ model }: Settings): boolean {
  const [, version = "0"] = /(?:^|\/)gemini-(\d+)/.exec(textOrEmpty(model)) ?? [];
  return Number(version) >= 3;
}
