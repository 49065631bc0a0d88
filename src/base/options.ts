import { nearestName } from "./nearest-name.ts";

/** Gives a value that an option can have, and refuses any other. `what` is the option with its function, as errors name it: `run: key`. */
export type ValueCheck<Value> = {
  (what: string, given: unknown): Value;
  /** It is asked of an option that is absent, too. */
  readonly isRequired?: true;
};

/** What each option of a type takes: the compiler asks for every name, and for a check of the option's own type. */
export type OptionTable<Options> = {
  readonly [Name in keyof Options]-?: ValueCheck<Exclude<Options[Name], undefined>>;
};

/** All that is known of a type's options beside the type: it throws a TypeError or RangeError that says what to give instead. */
export type OptionSchema<Options> = {
  readonly table: OptionTable<Options>;
  /** Refuses what is no object, and an unknown name; `where` is the function, as its caller writes it. */
  readonly checkNames: (where: string, given: unknown) => void;
  /** Refuses a value that its option cannot have, in the order of the table; `at` stands before each name in errors. */
  readonly checkValues: (at: string, given: object) => void;
  /** Both, with `createEngine: ` before the names unless `at` says otherwise. An undefined option is absent. */
  readonly check: (where: string, given: unknown, at?: string) => void;
};

/** The one place that knows the options of a type: their names, and what each may be. */
export function optionsOf<Options>(table: OptionTable<Options>): OptionSchema<Options> {
  const checks = Object.entries<ValueCheck<unknown>>(table);
  const checkValues = (at: string, given: object): void => {
    for (const [name, check] of checks) {
      const value: unknown = Reflect.get(given, name);
      if (value !== undefined || check.isRequired === true) check(`${at}${name}`, value);
    }
  };
  return {
    table,
    checkNames: (where, given) => checkOptions(where, given, table),
    checkValues,
    check(where, given, at = `${where}: `) {
      checkOptions(where, given, table);
      checkValues(at, given);
    },
  };
}

/** The same check of an option that cannot be left out. */
export const required = <Value>(check: ValueCheck<Value>): ValueCheck<Value> =>
  Object.assign((what: string, given: unknown) => check(what, given), { isRequired: true } as const);

/** One check for several options of one kind. */
export const allOf = <const Name extends string, Value>(
  check: ValueCheck<Value>,
  ...names: readonly Name[]
): { readonly [Each in Name]: ValueCheck<Value> } =>
  // Every name is there.
  Object.fromEntries(names.map((name) => [name, check])) as { readonly [Each in Name]: ValueCheck<Value> };

/** What an option may be that is looked at where it is used. */
// Of every option's type, as far as the table is asked.
export const anything: ValueCheck<never> = (_, given) => given as never;

/** One of a few known words, as an option. */
export const choiceOf =
  <const Choice extends string>(...choices: readonly Choice[]): ValueCheck<Choice> =>
  (what, given) =>
    checkChoice(what, given, choices);

/** A text, as an option; `wanted` is what to give, in words. */
export const textOf =
  (wanted: string): ValueCheck<string> =>
  (what, given) =>
    checkText(what, given, wanted);

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
export function checkOptions(where: string, given: unknown, names: object): asserts given is object {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new TypeError(`${where} takes an object of options, not ${kindOf(given)}`);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(names, name)) continue;
    throw new TypeError(`${where} has no option '${name}': ${insteadOf(where, name, names)}`);
  }
}

function insteadOf(where: string, name: string, names: object): string {
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
export function checkChoice<Choice extends string>(what: string, given: unknown, choices: readonly Choice[]): Choice {
  if (typeof given !== "string") throw new TypeError(`${what} is ${kindOf(given)}: ${meant("", choices)}`);
  const known = choices.find((choice) => choice === given);
  if (known !== undefined) return known;
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
export function checkText(what: string, given: unknown, wanted: string): string {
  if (typeof given === "string" && given !== "") return given;
  throw new TypeError(`${what} is ${kindOf(given)}: give ${wanted}`);
}

/** Refuses what is neither true nor false. */
export function checkFlag(what: string, given: unknown): boolean {
  if (typeof given === "boolean") return given;
  throw new TypeError(`${what} is ${kindOf(given)}: give true or false`);
}

/** Refuses what cannot be called. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the option's type is taken from where it is used
export function checkFunction<Wanted extends (...given: never) => unknown>(what: string, given: unknown): Wanted {
  // Of which kind it is shows when it is called.
  if (typeof given === "function") return given as Wanted;
  throw new TypeError(`${what} is ${kindOf(given)}: give a function`);
}

/** Refuses what is no signal. */
export function checkSignal(what: string, given: unknown): AbortSignal {
  if (given instanceof AbortSignal) return given;
  throw new TypeError(`${what} is ${kindOf(given)}: give the signal of an AbortController`);
}

/** Refuses what is no whole number from 1 on. */
export function checkWhole(what: string, given: unknown): number {
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= 1) return given;
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
