import type { CommandOptions } from "./context.ts";
import { UsageError } from "./exit-codes.ts";

/** A text option; null when it was not given. */
export function textOption(options: CommandOptions, name: string): string | null {
  const value = options[name];
  return typeof value === "string" ? value : null;
}

export const flag = (options: CommandOptions, name: string): boolean => options[name] === true;

type Range = { readonly least: number; readonly most?: number; readonly isWhole?: boolean };

/**
 * A number option; null when it was not given.
 *
 * @throws {UsageError} for what is no number, or out of its range.
 */
export function numberOption(options: CommandOptions, name: string, range: Range): number | null {
  const text = textOption(options, name);
  if (text === null) return null;
  const { least, most = Number.MAX_SAFE_INTEGER, isWhole = true } = range;
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= least && value <= most && (!isWhole || Number.isInteger(value))) return value;
  const what = isWhole ? "a whole number" : "a number";
  const bounds = range.most === undefined ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new UsageError(`--${dashed(name)} takes ${what} ${bounds}, not '${text}'`);
}

/**
 * An option with a few known values; null when it was not given.
 *
 * @throws {UsageError} for another value.
 */
export function choiceOption<Choice extends string>(
  options: CommandOptions,
  name: string,
  choices: readonly Choice[],
): Choice | null {
  const text = textOption(options, name);
  if (text === null) return null;
  const choice = choices.find((each) => each === text);
  if (choice !== undefined) return choice;
  throw new UsageError(`--${dashed(name)} is one of ${choices.join(", ")}, not '${text}'`);
}

const dashed = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
