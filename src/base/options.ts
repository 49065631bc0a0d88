import { nearestName } from "./nearest-name.ts";

/** The names of all options of a type: the compiler asks for each, so a new option cannot be forgotten. */
export type OptionNames<Options> = { readonly [Name in keyof Options]-?: true };

/** What other tools call some options, and we call them. */
const otherWords: Readonly<Record<string, string>> = {
  ...{ layers: "middleware", system: "instructions", systemPrompt: "instructions" },
  ...{ maxTokens: "maxOutputTokens", max_tokens: "maxOutputTokens", maxTurns: "maxSteps", maxIterations: "maxSteps" },
  ...{ parameters: "inputSchema", schema: "inputSchema", handler: "execute", run: "execute", func: "execute" },
  ...{
    prompt: "input",
    messages: "input",
    abortSignal: "signal",
    responseFormat: "output",
    outputSchema: "output",
    outputType: "output",
  },
};

/** What is easily given to another than it belongs to, of those that make a run together. */
const ofEngine = [
  ...["provider", "otherProviders", "route", "middleware", "chain", "compact", "retry", "observers", "onInDoubt"],
  ...["onLostResponse", "onToolError", "onUnsendablePart", "interruptionNote", "layerTimeoutMs"],
];
const ofEngineAndRun = ["mode", "budget", "maxSteps", "output", "context"];
const ofProvider = ["apiKey", "baseURL", "transport", "background", "store", "headers"];
const ofProviderAndRun = ["model", "instructions", "temperature", "topP", "maxOutputTokens", "reasoningEffort"];
const homes = {
  engine: { "the provider": ofProvider, "the provider, or to run": [...ofProviderAndRun, "toolChoice"] },
  run: { createEngine: [...ofEngine, "tools"], "the provider": ofProvider },
  provider: { createEngine: ofEngine, "createEngine, or to run": ofEngineAndRun },
};
const runMethods = ["run", "stream", "step"];

/** To whom an option belongs that another was given; null where nobody of these has it. */
export function homeOf(given: keyof typeof homes, name: string): string | null {
  const asked = otherWords[name] ?? name;
  return Object.entries(homes[given]).find(([, names]) => names.includes(asked))?.[0] ?? null;
}

/** What other tools, and earlier ones of ours, call some choices. */
const otherChoices: Readonly<Record<string, string>> = {
  ...{ never: "stateless", full: "stateless", require: "chained", previous_response_id: "chained" },
};

/**
 * Refuses options of a function that it does not have: a misspelt one would be passed over in silence.
 *
 * @param where - The function, as its caller writes it.
 * @throws {TypeError} for a name that is none of the options, with the nearest one, and for what is no object.
 */
export function checkOptions(
  where: string,
  given: unknown,
  names: Readonly<Record<string, true>>,
): asserts given is object {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new TypeError(`${where} takes an object of options, not ${kindOf(given)}`);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(names, name)) continue;
    throw new TypeError(`${where} has no option '${name}': ${insteadOf(where, name, names)}`);
  }
}

function insteadOf(where: string, name: string, names: Readonly<Record<string, true>>): string {
  const other = otherWords[name];
  if (other !== undefined && Object.hasOwn(names, other)) return `did you mean '${other}'?`;
  const given = where === "createEngine" ? "engine" : runMethods.includes(where) ? "run" : null;
  const home = given === null ? null : homeOf(given, name);
  return home === null ? meant(name, Object.keys(names)) : `give it to ${home}`;
}

/**
 * Refuses a value that is none of a few known words.
 *
 * @param what - The option, with its function.
 * @throws {TypeError} with the nearest word, or all of them.
 */
export function checkChoice<Choice extends string>(
  what: string,
  given: unknown,
  choices: readonly Choice[],
): asserts given is Choice {
  if (typeof given !== "string") throw new TypeError(`${what} is ${kindOf(given)}: ${meant("", choices)}`);
  if (choices.some((choice) => choice === given)) return;
  const other = choices.find((choice) => choice === otherChoices[given]);
  throw new TypeError(
    `${what} is '${given}': ${other === undefined ? meant(given, choices) : `did you mean '${other}'?`}`,
  );
}

/**
 * Refuses what is no text, or an empty one.
 *
 * @param wanted - What to give, in words.
 */
export function checkText(what: string, given: unknown, wanted: string): asserts given is string {
  if (typeof given !== "string" || given === "") throw new TypeError(`${what} is ${kindOf(given)}: give ${wanted}`);
}

/** Refuses what is neither true nor false. */
export function checkFlag(what: string, given: unknown): void {
  if (typeof given !== "boolean") throw new TypeError(`${what} is ${kindOf(given)}: give true or false`);
}

/** Refuses what cannot be called. */
export function checkFunction(what: string, given: unknown): void {
  if (typeof given !== "function") throw new TypeError(`${what} is ${kindOf(given)}: give a function`);
}

/** Refuses what is no signal. */
export function checkSignal(where: string, given: unknown): void {
  if (given instanceof AbortSignal) return;
  throw new TypeError(`${where}: signal is ${kindOf(given)}: give the signal of an AbortController`);
}

/** Refuses what is no whole number from 1 on. */
export function checkWhole(what: string, given: unknown): void {
  if (Number.isSafeInteger(given) && Number(given) >= 1) return;
  throw new RangeError(`${what} is ${kindOf(given)}: give a whole number of at least 1`);
}

/** What to write in place of a word that is not known. */
export function meant(word: string, known: readonly string[]): string {
  const near = nearestName(word, known);
  if (near !== null) return `did you mean '${near}'?`;
  const quoted = known.map((each) => `'${each}'`);
  const last = quoted.pop() ?? "nothing";
  return `give ${quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`}`;
}

/** What a value is, in the words of an error: not its content, which may be anybody's. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (value === "") return "an empty text";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Promise) return "a promise";
  if (typeof value === "number") return String(value);
  return words.get(typeof value) ?? `a ${typeof value}`;
}

const words: ReadonlyMap<string, string> = new Map([
  ["string", "a text"],
  ["object", "an object"],
]);
