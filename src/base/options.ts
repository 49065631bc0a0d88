import { nearestName } from "./nearest-name.ts";

/** Returns a valid value of an option, and rejects any other. `what` names the option with its function, as errors do: `run: key`. */
export type ValueCheck<Value> = {
  (what: string, given: unknown): Value;
  /** The check also runs if the option is absent. */
  readonly isRequired?: true;
};

/** The check of each option of a type: the compiler requires every name, and a check of the option's own type. */
export type OptionTable<Options> = {
  readonly [Name in keyof Options]-?: ValueCheck<Exclude<Options[Name], undefined>>;
};

/** The checks of a type's options: they throw a TypeError or RangeError that says what to give instead. */
export type OptionSchema<Options> = {
  readonly table: OptionTable<Options>;
  /** Rejects a value that is not an object, and an unknown name; `where` is the function, as its caller writes it. */
  readonly checkNames: (where: string, given: unknown) => void;
  /** Rejects an invalid value of an option, in the order of the table; errors put `at` before each name. */
  readonly checkValues: (at: string, given: object) => void;
  /** Both, with `createEngine: ` before the names unless `at` says otherwise. An undefined option is absent. */
  readonly check: (where: string, given: unknown, at?: string) => void;
};

/** Defines the options of a type: their names and checks, in one place. */
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

/** The same check for an option that is required. */
export const required = <Value>(check: ValueCheck<Value>): ValueCheck<Value> =>
  Object.assign((what: string, given: unknown) => check(what, given), { isRequired: true } as const);

/** One check for several options of one kind. */
export const allOf = <const Name extends string, Value>(
  check: ValueCheck<Value>,
  ...names: readonly Name[]
): { readonly [Each in Name]: ValueCheck<Value> } =>
  // The object has every name.
  Object.fromEntries(names.map((name) => [name, check])) as { readonly [Each in Name]: ValueCheck<Value> };

/** For an option that is checked where it is used. */
// A value of any option's type, as far as the table needs it.
export const anything: ValueCheck<never> = (_, given) => given as never;

/** An option with one of a few choices. */
export const choiceOf =
  <const Choice extends string>(...choices: readonly Choice[]): ValueCheck<Choice> =>
  (what, given) =>
    checkChoice(what, given, choices);

/** A text option; `wanted` describes what to give. */
export const textOf =
  (wanted: string): ValueCheck<string> =>
  (what, given) =>
    checkText(what, given, wanted);

/** Names of options in other tools, with turnlog's names. */
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

/** Options that callers easily give to the wrong one of the functions that make a run. */
const ofEngine = [
  ...[
    "provider",
    "otherProviders",
    "route",
    "middleware",
    "chain",
    "compact",
    "retry",
    "observers",
    "tracing",
    "onInDoubt",
  ],
  ...["approvals", "onApproval"],
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

/** The function that has the option, if it was given to another; null if none of them has it. */
export function homeOf(given: keyof typeof homes, name: string): string | null {
  const asked = otherWords[name] ?? name;
  return Object.entries(homes[given]).find(([, names]) => names.includes(asked))?.[0] ?? null;
}

/** Names of choices in other tools and in earlier versions of turnlog. */
const otherChoices: Readonly<Record<string, string>> = {
  ...{ never: "stateless", full: "stateless", require: "chained", previous_response_id: "chained" },
};

/**
 * Rejects unknown options of a function: a misspelt one would otherwise be ignored silently.
 *
 * @param where - The function, as its caller writes it.
 * @throws {TypeError} for an unknown name, with the nearest option, and for a value that is not an object.
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
 * Rejects a value that is not one of a few choices.
 *
 * @param what - The option, with its function.
 * @throws {TypeError} with the nearest choice, or all of them.
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
 * Rejects a value that is not a text, or an empty text.
 *
 * @param wanted - What to give, as a text for people.
 */
export function checkText(what: string, given: unknown, wanted: string): string {
  if (typeof given === "string" && given !== "") return given;
  throw new TypeError(`${what} is ${kindOf(given)}: give ${wanted}`);
}

/** Rejects a value that is neither true nor false. */
export function checkFlag(what: string, given: unknown): boolean {
  if (typeof given === "boolean") return given;
  throw new TypeError(`${what} is ${kindOf(given)}: give true or false`);
}

/** Rejects a value that is not a function. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the option's type is taken from where it is used
export function checkFunction<Wanted extends (...given: never) => unknown>(what: string, given: unknown): Wanted {
  // Its signature cannot be checked before it is called.
  if (typeof given === "function") return given as Wanted;
  throw new TypeError(`${what} is ${kindOf(given)}: give a function`);
}

/** Rejects a value that is not an AbortSignal. */
export function checkSignal(what: string, given: unknown): AbortSignal {
  if (given instanceof AbortSignal) return given;
  throw new TypeError(`${what} is ${kindOf(given)}: give the signal of an AbortController`);
}

/** Rejects a value that is not a whole number of at least 1. */
export function checkWhole(what: string, given: unknown): number {
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= 1) return given;
  throw new RangeError(`${what} is ${kindOf(given)}: give a whole number of at least 1`);
}

/** What to write instead of an unknown word. */
export function meant(word: string, known: readonly string[]): string {
  const near = nearestName(word, known);
  if (near !== null) return `did you mean '${near}'?`;
  const quoted = known.map((each) => `'${each}'`);
  const last = quoted.pop() ?? "nothing";
  return `give ${quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`}`;
}

/** The kind of a value, for an error: not its content, which may be private. */
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
