import {
  anything,
  checkChoice,
  checkFlag,
  checkText,
  checkWhole,
  kindOf,
  meant,
  optionsOf,
  textOf,
  type ValueCheck,
} from "../../base/options.ts";

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

const fromZero: ValueCheck<number> = (what, given) => {
  if (typeof given === "number" && Number.isFinite(given) && given >= 0) return given;
  throw new RangeError(`${what} is ${kindOf(given)}: give a number from 0 on`);
};

/** In the order in which the log has them. */
export const modelSettings = optionsOf<ModelSettings>({
  ...{ model: textOf("its name"), instructions: textOf("what the model is told") },
  ...{ temperature: fromZero, topP: fromZero, maxOutputTokens: checkWhole, reasoningEffort: textOf("its name") },
  parallelToolCalls: checkFlag,
});

export const runSettings = optionsOf<RunSettings>({
  ...modelSettings.table,
  ...{ toolChoice: anything, maxSteps: checkWhole },
});

/** @throws {TypeError} for a choice that there is not, and for a tool that the run does not offer. */
export function checkToolChoice(where: string, toolChoice: unknown, tools: readonly string[]): void {
  if (toolChoice === undefined) return;
  if (typeof toolChoice !== "object" || toolChoice === null) {
    if (typeof toolChoice === "string" && tools.includes(toolChoice))
      throw new TypeError(`${where}: toolChoice is the name of a tool: write { tool: "${toolChoice}" }`);
    checkChoice(`${where}: toolChoice`, toolChoice, ["auto", "none", "required"]);
    return;
  }
  const tool = checkText(`${where}: toolChoice.tool`, Reflect.get(toolChoice, "tool"), "the name of a tool");
  if (tools.includes(tool)) return;
  const instead = tools.length === 0 ? "the engine has no tools" : meant(tool, tools);
  throw new TypeError(`${where}: there is no tool '${tool}': ${instead}`);
}
