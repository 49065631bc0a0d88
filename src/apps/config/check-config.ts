import { isFilledText, isJsonObject } from "../../base/json.ts";
import {
  anything,
  checkChoice,
  checkText,
  kindOf,
  type OptionTable,
  optionsOf,
  textOf,
  type ValueCheck,
} from "../../base/options.ts";
import { isCredentialName } from "../../providers/secrets/credentials.ts";
import { wires } from "./build-provider.ts";
import type { TurnlogConfig } from "./config.ts";
import { inFile } from "./config-error.ts";

/**
 * Checks what one file holds: its names and the form of each value. The options of providers and engines are checked where these are made.
 *
 * @throws {ConfigError} for the first mistake.
 */
export function checkConfig(file: string, given: unknown): TurnlogConfig {
  const { check } = optionsOf<TurnlogConfig>(file.endsWith(".json") ? jsonTable : codeTable);
  inFile(file, () => {
    check("the configuration", given, "");
  });
  // The table has checked it.
  return given as TurnlogConfig;
}

/** Whether a text names a file, and not an entry of the configuration. */
export const isFileName = (text: string): boolean => /[./\\]/.test(text);

const namePattern = /^[\w-]+$/;

/** An object of named entries. */
const namedEntries =
  (checkEntry: (what: string, entry: unknown) => void): ValueCheck<never> =>
  (what, given) => {
    if (!isJsonObject(given)) throw new TypeError(`${what} is ${kindOf(given)}: give an object of names`);
    for (const [name, entry] of Object.entries(given)) {
      if (!namePattern.test(name))
        throw new TypeError(
          `${what} has the name '${name}': give letters, digits, - and _, because --stack takes others as files`,
        );
      checkEntry(`${what}.${name}`, entry);
    }
    return anything(what, given);
  };

function checkAddress(what: string, given: unknown): void {
  const address = checkText(what, given, "an address, as sqlite:./turnlog.db");
  if (!address.includes(":"))
    throw new TypeError(`${what} is not the address of a store: give one, as sqlite:./turnlog.db`);
}

/** An object with a wire; in a file of code also a provider. */
const providerEntry = (isJson: boolean) => (what: string, given: unknown) => {
  if (!isJsonObject(given)) throw new TypeError(`${what} is ${kindOf(given)}: give { wire, model }`);
  if (!isJson && isProvider(given)) return;
  if (given["wire"] === undefined) throw new TypeError(`${what} has no wire: give one of ${wires.join(", ")}`);
  checkChoice(`${what}.wire`, given["wire"], wires);
  if (isJson) checkJsonProvider(what, given);
};

/** Options that only code can give. */
const codeOfProvider: ReadonlySet<string> = new Set(["fetch", "token", "credentials"]);
const codeOfEngine: ReadonlySet<string> = new Set([
  ...[
    "tools",
    "middleware",
    "output",
    "otherProviders",
    "route",
    "observers",
    "onInDoubt",
    "onApproval",
    "onToolError",
  ],
  ...["tracing", "clock", "sleep", "newId"],
]);

function refuseCode(what: string, given: object, needCode: ReadonlySet<string>, instead: string): void {
  const name = Object.keys(given).find((each) => needCode.has(each));
  if (name !== undefined) throw new TypeError(`${what}.${name} needs code, which JSON does not have: ${instead}`);
}

function checkJsonProvider(what: string, given: object): void {
  refuseCode(what, given, codeOfProvider, "write turnlog.config.ts");
  refuseCredential(`${what}.apiKey`, Reflect.get(given, "apiKey"));
  for (const [member, isSecret] of [
    ["secrets", () => true],
    ["headers", isCredentialName],
    ["queryParams", isCredentialName],
    ["env", isCredentialName],
  ] as const) {
    const values: unknown = Reflect.get(given, member);
    if (!isJsonObject(values)) continue;
    for (const [name, value] of Object.entries(values))
      if (isSecret(name)) refuseCredential(`${what}.${member}.${name}`, value);
  }
}

/** A credential in a file is soon in a repository. */
function refuseCredential(what: string, given: unknown): void {
  if (isFilledText(given))
    throw new TypeError(`${what} is a text, and JSON is no place for a key: name a variable, as { "env": "MY_KEY" }`);
}

/** A path, an object with a provider; in a file of code also an engine or a function. */
const engineEntry = (isJson: boolean) => (what: string, given: unknown) => {
  if (typeof given === "string") {
    if (isFileName(given)) return;
    throw new TypeError(`${what} is '${given}', which is no path of a module: give one, as ./agent.ts`);
  }
  if (!isJson && (typeof given === "function" || isEngine(given))) return;
  if (!isJsonObject(given))
    throw new TypeError(`${what} is ${kindOf(given)}: give { provider }, or the path of a module`);
  if (given["provider"] === undefined)
    throw new TypeError(`${what} has no provider: give the name of one in providers`);
  if (isJson) {
    checkText(`${what}.provider`, given["provider"], "the name of one in providers");
    refuseCode(what, given, codeOfEngine, `write turnlog.config.ts, or name a module that has it, as "./agent.ts"`);
  }
};

/** Whether the value is a provider, of any copy of turnlog. */
export const isProvider = (value: unknown): boolean =>
  isJsonObject(value) && typeof Reflect.get(value, "infer") === "function";

/** Whether the value is an engine, of any copy of turnlog. */
export const isEngine = (value: unknown): boolean => {
  const options: unknown = isJsonObject(value) ? value["options"] : undefined;
  return isJsonObject(options) && options["provider"] !== undefined && Array.isArray(options["layers"]);
};

const pricesTable = optionsOf<{ readonly prices: string; readonly priceAs?: Readonly<Record<string, string>> }>({
  prices: textOf("the path of a price file"),
  priceAs: namedTexts,
});

function namedTexts(what: string, given: unknown): Readonly<Record<string, string>> {
  if (!isJsonObject(given)) throw new TypeError(`${what} is ${kindOf(given)}: give { model: "name of an entry" }`);
  for (const [name, value] of Object.entries(given)) checkText(`${what}.${name}`, value, "the name of an entry");
  return anything(what, given);
}

const tableFor = (isJson: boolean): OptionTable<TurnlogConfig> => ({
  store: textOf("an address, or a name in stores"),
  stores: namedEntries(checkAddress),
  providers: namedEntries(providerEntry(isJson)),
  engines: namedEntries(engineEntry(isJson)),
  engine: textOf("a name in engines or providers"),
  prices(what, given) {
    if (typeof given === "string") return checkText(what, given, "the path of a price file");
    pricesTable.check(what, given, `${what}.`);
    if (Reflect.get(Object(given), "prices") === undefined)
      throw new TypeError(`${what} names no file: give { prices: "./prices.json", priceAs }`);
    return anything(what, given);
  },
});
const jsonTable = tableFor(true);
const codeTable = tableFor(false);
