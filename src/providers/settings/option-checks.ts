import { isJsonList, isJsonObject } from "../../base/json.ts";
import { kindOf, meant, type ValueCheck } from "../../base/options.ts";
import { ProviderSettingsError } from "./settings-error.ts";

/** A check of a provider's option, in its words: what it is, and what to give instead. */
const checkOf =
  <Value>(isRight: (given: unknown) => given is Value, wanted: string): ValueCheck<Value> =>
  (what, given) => {
    if (isRight(given)) return given;
    throw new ProviderSettingsError(`${what} is ${kindOf(given)}: give ${wanted}`);
  };

const isText = (given: unknown): given is string => typeof given === "string" && given !== "";
const isTexts = (given: unknown): given is readonly string[] =>
  isJsonList(given) && given.every((each) => typeof each === "string");

/** A text that says something, as an option; `wanted` is what to give, in words. */
export const namedOf = (wanted: string): ValueCheck<string> => checkOf(isText, wanted);

/** The name of a model, as an option, with an example of one. */
export const modelLike = (example: string): ValueCheck<string> => namedOf(`the name of a model, such as '${example}'`);

export const textList: ValueCheck<readonly string[]> = checkOf(isTexts, "a list of texts");

/** How long it may be is for the engine to say. */
export const milliseconds: ValueCheck<number> = checkOf((given) => typeof given === "number", "milliseconds");

/** A function, as an option; of which kind it is shows when it is called. */
export const functionOf = (wanted: string): ValueCheck<never> =>
  checkOf((given): given is never => typeof given === "function", wanted);

/** What the model is told: wires have more forms of it than a text. */
export const instructions: ValueCheck<never> = checkOf(
  (given): given is never => typeof given !== "number" && typeof given !== "boolean",
  "what the model is told, as a text",
);

export const headers: ValueCheck<never> = (what, given) => {
  if (!isJsonObject(given))
    throw new ProviderSettingsError(`${what} is ${kindOf(given)}: give an object such as { "x-team": "search" }`);
  const wrong = Object.keys(given).find((name) => !headerName.test(name));
  if (wrong !== undefined) throw new ProviderSettingsError(`${what} has '${wrong}', which names no header`);
  // Their values are looked at where they are filled in.
  return given as never;
};

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** One of a few known words, as an option: it is refused with the nearest of them, or all. */
export const wordOf =
  <const Word extends string>(...known: readonly Word[]): ValueCheck<Word> =>
  (what, given) => {
    const word = known.find((each) => each === given);
    if (word !== undefined) return word;
    const isNamed = typeof given === "string" && given !== "";
    const advice = meant(isNamed ? given : "", known);
    throw new ProviderSettingsError(`${what} is ${isNamed ? `'${given}'` : kindOf(given)}: ${advice}`);
  };
