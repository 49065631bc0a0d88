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

/** Whether the model calls tools: its own choice, none, at least one, or this one. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/**
 * Changes to the provider's settings, in turnlog's terms: the provider's codec translates them. They are recorded, so never put
 * secrets in them.
 */
export type ModelSettings = {
  readonly model?: string;
  /** Replaces the provider's own instructions; additions by layers and system blocks follow it. */
  readonly instructions?: string;
  readonly temperature?: number;
  readonly topP?: number;
  /** The maximum number of tokens of one answer, reasoning included. */
  readonly maxOutputTokens?: number;
  /** The reasoning effort, in the provider's own terms: `low`, `high`. */
  readonly reasoningEffort?: string;
  /** Whether one answer may contain several calls. */
  readonly parallelToolCalls?: boolean;
};

/** The settings of one run: for each of its requests, and for its tool loop. */
export type RunSettings = ModelSettings & {
  /**
   * `required`, or a tool by name, applies until the run has called a tool. After that the model chooses, because the run could not
   * end otherwise.
   */
  readonly toolChoice?: ToolChoice;
  /** The maximum number of model calls of the tool loop in this run. */
  readonly maxSteps?: number;
};

const fromZero: ValueCheck<number> = (what, given) => {
  if (typeof given === "number" && Number.isFinite(given) && given >= 0) return given;
  throw new RangeError(`${what} is ${kindOf(given)}: give a number of at least 0`);
};

/** In the order in which the log has them. */
export const modelSettings = optionsOf<ModelSettings>({
  ...{ model: textOf("its name"), instructions: textOf("the text for the model") },
  ...{ temperature: fromZero, topP: fromZero, maxOutputTokens: checkWhole, reasoningEffort: textOf("its name") },
  parallelToolCalls: checkFlag,
});

export const runSettings = optionsOf<RunSettings>({
  ...modelSettings.table,
  ...{ toolChoice: anything, maxSteps: checkWhole },
});

/** @throws {TypeError} if the choice is invalid, or the run does not offer the tool. */
export function checkToolChoice(where: string, toolChoice: unknown, tools: readonly string[]): void {
  if (toolChoice === undefined) return;
  if (typeof toolChoice !== "object" || toolChoice === null) {
    if (typeof toolChoice === "string" && tools.includes(toolChoice))
      throw new TypeError(`${where}: toolChoice is a tool's name: write { tool: "${toolChoice}" }`);
    checkChoice(`${where}: toolChoice`, toolChoice, ["auto", "none", "required"]);
    return;
  }
  const tool = checkText(`${where}: toolChoice.tool`, Reflect.get(toolChoice, "tool"), "the name of a tool");
  if (tools.includes(tool)) return;
  const instead = tools.length === 0 ? "the engine has no tools" : meant(tool, tools);
  throw new TypeError(`${where}: there is no tool '${tool}': ${instead}`);
}
