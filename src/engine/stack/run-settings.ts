import { checkChoice, checkFlag, checkText, checkWhole, kindOf, meant, type OptionNames } from "../../base/options.ts";

/** Whether the model calls tools: as it likes, not at all, at least one, or this one. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/**
 * What a caller asks of the model otherwise than the provider is set to, in turnlog's own words: the provider's codec
 * translates them. Recorded, and never a place for secrets.
 */
export type ModelSettings = {
  readonly model?: string;
  /** In the place of the provider's own; what layers and system blocks add to the instructions follows them. */
  readonly instructions?: string;
  readonly temperature?: number;
  readonly topP?: number;
  /** The most tokens that one answer may take, reasoning included. */
  readonly maxOutputTokens?: number;
  /** How hard the model thinks, in its provider's own words: `low`, `high`. */
  readonly reasoningEffort?: string;
  /** Whether one answer may make several calls. */
  readonly parallelToolCalls?: boolean;
};

/** What one run asks otherwise: for each of its requests, and for its tool loop. */
export type RunSettings = ModelSettings & {
  /**
   * `required`, or a tool by its name, holds until a tool of the run was called: after that the model chooses, or the run
   * would come to no end.
   */
  readonly toolChoice?: ToolChoice;
  /** How often the tool loop may ask the model in this run. */
  readonly maxSteps?: number;
};

export const modelSettingNames: OptionNames<ModelSettings> = {
  ...{ model: true, instructions: true, temperature: true, topP: true, maxOutputTokens: true, reasoningEffort: true },
  parallelToolCalls: true,
};

export const runSettingNames: OptionNames<RunSettings> = { ...modelSettingNames, toolChoice: true, maxSteps: true };

type Given = { readonly [name: string]: unknown };

/** @throws {TypeError | RangeError} for a value that the setting cannot have. */
export function checkModelSettings(where: string, given: Given): void {
  for (const name of ["model", "reasoningEffort"])
    if (given[name] !== undefined) checkText(`${where}: ${name}`, given[name], "its name");
  const { instructions, parallelToolCalls, maxOutputTokens } = given;
  if (instructions !== undefined) checkText(`${where}: instructions`, instructions, "what the model is told");
  for (const name of ["temperature", "topP"]) {
    const value = given[name];
    if (value !== undefined && !(Number.isFinite(value) && Number(value) >= 0))
      throw new RangeError(`${where}: ${name} is ${kindOf(value)}: give a number from 0 on`);
  }
  if (maxOutputTokens !== undefined) checkWhole(`${where}: maxOutputTokens`, maxOutputTokens);
  if (parallelToolCalls !== undefined) checkFlag(`${where}: parallelToolCalls`, parallelToolCalls);
}

/** @throws {TypeError | RangeError} for a value that the setting cannot have, and for a tool that the run does not offer. */
export function checkRunSettings(where: string, given: Given, tools: readonly string[]): void {
  checkModelSettings(where, given);
  const { maxSteps, toolChoice } = given;
  if (maxSteps !== undefined) checkWhole(`${where}: maxSteps`, maxSteps);
  if (toolChoice === undefined) return;
  if (typeof toolChoice !== "object" || toolChoice === null) {
    if (typeof toolChoice === "string" && tools.includes(toolChoice))
      throw new TypeError(`${where}: toolChoice is the name of a tool: write { tool: "${toolChoice}" }`);
    checkChoice(`${where}: toolChoice`, toolChoice, ["auto", "none", "required"]);
    return;
  }
  const tool: unknown = Reflect.get(toolChoice, "tool");
  checkText(`${where}: toolChoice.tool`, tool, "the name of a tool");
  if (tools.includes(tool)) return;
  const instead = tools.length === 0 ? "the engine has no tools" : meant(tool, tools);
  throw new TypeError(`${where}: there is no tool '${tool}': ${instead}`);
}
