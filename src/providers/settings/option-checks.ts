import { isJsonList, isJsonObject } from "../../base/json.ts";
import { kindOf, meant, type ValueCheck } from "../../base/options.ts";
import { ProviderSettingsError } from "./settings-error.ts";

/** Makes a check of a provider's option; its error says what was given and what to give instead. */
const checkOf =
  <Value>(isRight: (given: unknown) => given is Value, wanted: string): ValueCheck<Value> =>
  (what, given) => {
    if (isRight(given)) return given;
    throw new ProviderSettingsError(`${what} is ${kindOf(given)}: give ${wanted}`);
  };

const isText = (given: unknown): given is string => typeof given === "string" && given !== "";
const isTexts = (given: unknown): given is readonly string[] =>
  isJsonList(given) && given.every((each) => typeof each === "string");

/** Checks that an option is a text that is not empty; `wanted` says in words what to give. */
export const namedOf = (wanted: string): ValueCheck<string> => checkOf(isText, wanted);

/** Checks the name of a model; the error shows an example. */
export const modelLike = (example: string): ValueCheck<string> => namedOf(`the name of a model, such as '${example}'`);

export const textList: ValueCheck<readonly string[]> = checkOf(isTexts, "a list of texts");

export const flag: ValueCheck<boolean> = checkOf((given) => typeof given === "boolean", "true or false");

/** The engine checks the range. */
export const milliseconds: ValueCheck<number> = checkOf((given) => typeof given === "number", "milliseconds");

/** Checks only that an option is a function; its signature shows when it is called. */
export const functionOf = (wanted: string): ValueCheck<never> =>
  checkOf((given): given is never => typeof given === "function", wanted);

/** Instructions for the model: some wires accept more than a text. */
export const instructions: ValueCheck<never> = checkOf(
  (given): given is never => typeof given !== "number" && typeof given !== "boolean",
  "the text for the model",
);

export const headers: ValueCheck<never> = (what, given) => {
  if (!isJsonObject(given))
    throw new ProviderSettingsError(`${what} is ${kindOf(given)}: give an object such as { "x-team": "search" }`);
  const wrong = Object.keys(given).find((name) => !headerName.test(name));
  if (wrong !== undefined) throw new ProviderSettingsError(`${what} has '${wrong}', which is not a header name`);
  // The cast is safe: the values are checked where they are filled in.
  return given as never;
};

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Checks an option against a few known words; the error suggests the nearest, or lists all. */
export const wordOf =
  <const Word extends string>(...known: readonly Word[]): ValueCheck<Word> =>
  (what, given) => {
    const word = known.find((each) => each === given);
    if (word !== undefined) return word;
    const isNamed = typeof given === "string" && given !== "";
    const advice = meant(isNamed ? given : "", known);
    throw new ProviderSettingsError(`${what} is ${isNamed ? `'${given}'` : kindOf(given)}: ${advice}`);
  };
