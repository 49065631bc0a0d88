import { frozenJson } from "../base/frozen-json.ts";
import { type JsonObject, type JsonValue, setMember } from "../base/json.ts";
import { nearestName } from "../base/nearest-name.ts";
import { kindOf } from "../base/options.ts";
import type { Settings } from "../engine/stack/codec.ts";
import { ProviderSettingsError } from "./settings-error.ts";

/** What a provider's options are called, and which of them are members of a request's body. */
export type OptionWords = {
  /** What the function is called that takes them. */
  readonly provider: string;
  /** Options that are no members of a body. */
  readonly connectionNames: Readonly<Record<string, true>>;
  readonly settingNames: Readonly<Record<string, true>>;
  /** Members of a body that every request decides anew. */
  readonly decided: ReadonlySet<string>;
  /** What is refused unless it is off, and why. */
  readonly refusals: ReadonlyMap<string, string>;
  /** What other APIs call the same. */
  readonly otherNames: ReadonlyMap<string, string>;
};

/**
 * The request settings among a provider's options, in the caller's order, and what `extraBody` adds to them.
 *
 * @throws {ProviderSettingsError} for a name that is no option, for what is no JSON, and for what every request decides anew.
 */
export function checkedSettings(
  { extraBody, ...options }: { readonly extraBody?: JsonObject | undefined },
  words: OptionWords,
): Settings {
  const { connectionNames, settingNames, refusals } = words;
  const settings: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(options)) {
    if (Object.hasOwn(connectionNames, name)) continue;
    checkSetting(name, value, words);
    if (!Object.hasOwn(settingNames, name) && !refusals.has(name)) throw unknownOption(name, words);
    if (value !== undefined) setMember(settings, name, settingJson(value, name));
  }
  for (const [name, value] of Object.entries(extraMembers(extraBody))) {
    checkSetting(name, value, words);
    if (Object.hasOwn(settingNames, name)) {
      throw new ProviderSettingsError(`extraBody.${name} is an option of its own: give ${name} beside extraBody`);
    }
    if (value !== undefined) setMember(settings, name, settingJson(value, `extraBody.${name}`));
  }
  return settings;
}

function unknownOption(name: string, { provider, connectionNames, settingNames, otherNames }: OptionWords) {
  const near = otherNames.get(name) ?? nearestName(name, Object.keys({ ...connectionNames, ...settingNames }));
  const advice = near === null ? "" : `did you mean '${near}'? `;
  const text = `${provider} has no option '${name}': ${advice}What else belongs in the body of requests goes under extraBody`;
  return new ProviderSettingsError(text);
}

function checkSetting(name: string, value: unknown, { refusals, decided }: OptionWords): void {
  const refusal = value !== undefined && value !== null && value !== false ? refusals.get(name) : undefined;
  if (refusal !== undefined) throw new ProviderSettingsError(`the setting ${name} is not supported: ${refusal}`);
  if (decided.has(name)) throw new ProviderSettingsError(`${name} is no setting: every request decides it anew`);
}

function extraMembers(extraBody: unknown): object {
  if (extraBody === undefined) return {};
  if (typeof extraBody === "object" && extraBody !== null && !Array.isArray(extraBody)) return extraBody;
  throw new ProviderSettingsError(`extraBody is ${kindOf(extraBody)}: give an object of members of the request's body`);
}

/** A setting as JSON that nobody can change, so that what is recorded is what is sent. */
function settingJson(value: unknown, name: string): JsonValue {
  try {
    // Not of its type yet: that is what is found out.
    return frozenJson(value as JsonValue, name);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new ProviderSettingsError(`the setting ${cause.message}`, { cause });
  }
}
