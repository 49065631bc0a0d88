import { frozenJson } from "../../base/frozen-json.ts";
import { isJsonObject, type JsonValue, setMember } from "../../base/json.ts";
import { nearestName } from "../../base/nearest-name.ts";
import { homeOf, kindOf, optionsOf, type ValueCheck } from "../../base/options.ts";
import type { Settings } from "../../engine/ports/codec.ts";
import { ProviderSettingsError } from "./settings-error.ts";

type Table = Readonly<Record<string, ValueCheck<unknown>>>;

/** A provider's options, and which of them are members of the request body. */
export type OptionWords = {
  /** The name of the function that takes them. */
  readonly provider: string;
  /** Options that are not part of the body. */
  readonly connection: Table;
  /** Options that are part of the body. Each must be JSON, besides what its table checks. */
  readonly settings: Table;
  /** Members of the body that every request decides anew. */
  readonly decided: ReadonlySet<string>;
  /** Options that are rejected unless they are off, and why. */
  readonly refusals: ReadonlyMap<string, string>;
  /** Names in other APIs, with the option, or the member of an option, that they correspond to. */
  readonly otherNames: ReadonlyMap<string, string>;
  /** Members of options that callers often write beside the option by mistake. */
  readonly members?: Readonly<Record<string, readonly string[]>>;
};

/**
 * The request settings among a provider's options, in the caller's order, with the members of `extraBody`.
 *
 * @throws {ProviderSettingsError} if an option is unknown, a value is not JSON, or every request decides the member anew.
 */
export function checkedSettings(given: object, words: OptionWords): Settings {
  checkGiven(words.provider, given);
  const { extraBody, ...options }: { readonly extraBody?: unknown } = given;
  const { provider, connection, settings: table, refusals } = words;
  const settings: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(options)) {
    if (Object.hasOwn(connection, name)) continue;
    checkSetting(name, value, words);
    if (!Object.hasOwn(table, name) && !refusals.has(name)) throw unknownOption(name, words);
    if (value !== undefined) setMember(settings, name, settingJson(value, name));
  }
  if (extraBody !== undefined && !hasOption(words, "extraBody")) throw unknownOption("extraBody", words);
  for (const [name, value] of Object.entries(extraMembers(extraBody))) {
    checkSetting(name, value, words);
    if (Object.hasOwn(table, name)) {
      throw new ProviderSettingsError(`extraBody.${name} is an option of turnlog: give ${name} beside extraBody`);
    }
    if (value !== undefined) setMember(settings, name, settingJson(value, `extraBody.${name}`));
  }
  optionsOf({ ...connection, ...table }).checkValues(`${provider}: `, options);
  return settings;
}

/**
 * Rejects options that are not an object, such as a model name alone.
 *
 * @throws {ProviderSettingsError} with what to write.
 */
export function checkGiven(provider: string, options: unknown): void {
  if (isJsonObject(options)) return;
  throw new ProviderSettingsError(
    `${provider} takes an object of options, not ${kindOf(options)}: write ${provider}({ model })`,
  );
}

const hasOption = ({ connection, settings }: OptionWords, name: string): boolean =>
  Object.hasOwn(connection, name) || Object.hasOwn(settings, name);

function unknownOption(name: string, words: OptionWords): ProviderSettingsError {
  const home = homeOf("provider", name);
  if (home !== null) return new ProviderSettingsError(`${words.provider} has no option '${name}': give it to ${home}`);
  const near = nearOption(name, words);
  const advice = near === null ? "; " : `: did you mean ${near}? `;
  const elsewhere = restOf(words);
  const rest = near === null ? elsewhere : elsewhere.charAt(0).toUpperCase() + elsewhere.slice(1);
  return new ProviderSettingsError(`${words.provider} has no option '${name}'${advice}${rest}`);
}

/** What the caller probably meant, as it is written: an option, or a member of one. */
function nearOption(name: string, words: OptionWords): string | null {
  const members = Object.entries(words.members ?? {});
  const options = Object.keys({ ...words.connection, ...words.settings });
  const asked = words.otherNames.get(name) ?? name;
  const option = nearestName(asked, options);
  const member = nearestName(
    asked,
    members.flatMap(([, names]) => names),
  );
  const isMember = member !== null && (option === null || (member === asked && option !== asked));
  if (!isMember) return option === null ? null : `'${option}'`;
  const [container = ""] = members.find(([, names]) => names.includes(member)) ?? [];
  return `${container}: { ${member} }`;
}

/** Where members that are not options belong. */
function restOf(words: OptionWords): string {
  if (hasOption(words, "extraBody")) return "other members of the request body go under extraBody";
  if (hasOption(words, "providerOptions")) return "other options of the model's provider go under providerOptions";
  return `it takes ${Object.keys({ ...words.settings, ...words.connection }).join(", ")}`;
}

function checkSetting(name: string, value: unknown, { refusals, decided }: OptionWords): void {
  const refusal = value !== undefined && value !== null && value !== false ? refusals.get(name) : undefined;
  if (refusal !== undefined) throw new ProviderSettingsError(`the setting ${name} is not supported: ${refusal}`);
  if (decided.has(name)) throw new ProviderSettingsError(`${name} is not a setting: turnlog sets it for each request`);
}

function extraMembers(extraBody: unknown): object {
  if (extraBody === undefined) return {};
  if (typeof extraBody === "object" && extraBody !== null && !Array.isArray(extraBody)) return extraBody;
  throw new ProviderSettingsError(`extraBody is ${kindOf(extraBody)}: give an object with members of the request body`);
}

/** A setting as frozen JSON, so that what is recorded is what is sent. */
function settingJson(value: unknown, name: string): JsonValue {
  try {
    // The cast is safe: `frozenJson` checks the value.
    return frozenJson(value as JsonValue, name);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new ProviderSettingsError(`the setting ${cause.message}`, { cause });
  }
}
