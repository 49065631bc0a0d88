import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { kindOf } from "../base/options.ts";
import { SecretReference } from "../log/codec/references.ts";
import { ProviderSettingsError } from "./settings-error.ts";

/**
 * The values of secrets, by the names that `secret("NAME")` gives them. They never reach the log. One that is undefined, as an
 * environment variable may be, is missing where it is named.
 */
export type Secrets = Readonly<Record<string, string | undefined>>;

/** Shorter values would be found in ordinary words: masking those would spoil what the provider says. */
export const secretLengthMin = 8;

/**
 * A body with the values of its secrets. They stand in its settings, with which it begins; what looks like one elsewhere (in
 * the input, or in an object of the caller's own) stays what it is.
 */
export function fillSecrets(bodyText: string, settings: JsonObject, secrets: Secrets): string {
  const named = JSON.stringify(settings).slice(0, -1);
  const filling = (_: string, value: unknown): unknown =>
    value instanceof SecretReference ? secretValue("a setting", value, secrets) : value;
  const filled = JSON.stringify(settings, filling).slice(0, -1);
  if (filled === named) return bodyText;
  if (!bodyText.startsWith(named)) throw new Error("the body of a request does not begin with its settings");
  return filled + bodyText.slice(named.length);
}

/**
 * The value that a secret stands for; a text stands for itself.
 *
 * @param place - Where it was given.
 * @throws {ProviderSettingsError} when there is no value, and for what is neither.
 */
export function secretValue(place: string, given: unknown, secrets: Secrets): string {
  if (typeof given === "string") return given;
  if (!(given instanceof SecretReference)) {
    throw new ProviderSettingsError(`${place} is ${kindOf(given)}: give a text, or secret("NAME")`);
  }
  const { $secret: name } = given;
  const value = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
  if (value !== undefined) return value;
  throw new ProviderSettingsError(
    `the secret ${name} has no value: give it in secrets, as { ${JSON.stringify(name)}: … }`,
  );
}

/**
 * Looks that secrets can be masked, that every one which the settings name has a value, and that none of the values stands
 * among them.
 *
 * @throws {ProviderSettingsError} for one that has none, or one of less than 8 characters.
 */
export function checkSecrets(settings: JsonObject, secrets: Secrets): void {
  checkNamed(settings, secrets);
  const written = JSON.stringify(settings);
  for (const [name, value] of Object.entries(secrets)) {
    if (value === undefined) continue;
    checkLength(name, value);
    if (!written.includes(JSON.stringify(value).slice(1, -1))) continue;
    const text = `the settings hold the value of the secret ${name}, and would be recorded: write secret("${name}") in its place`;
    throw new ProviderSettingsError(text);
  }
}

function checkLength(name: string, value: unknown): void {
  if (typeof value !== "string") {
    throw new ProviderSettingsError(`the secret ${name} is ${kindOf(value)}: give its value as a text`);
  }
  if (value.length >= secretLengthMin) return;
  const text = `the secret ${name} has ${value.length} characters: it takes at least ${secretLengthMin}, because a shorter one cannot be told from ordinary words where the provider repeats it`;
  throw new ProviderSettingsError(text);
}

function checkNamed(value: JsonValue | undefined, secrets: Secrets): void {
  if (value instanceof SecretReference) secretValue("a setting", value, secrets);
  else if (isJsonList(value)) for (const item of value) checkNamed(item, secrets);
  else if (isJsonObject(value)) for (const member of Object.values(value)) checkNamed(member, secrets);
}

/**
 * Looks that settings which stand in a body otherwise than they were given hold no secret: nobody could find it there.
 *
 * @throws {ProviderSettingsError} for one that does.
 */
export function refuseSecretsIn(settings: JsonObject, names: readonly string[]): void {
  for (const name of names)
    if (holdsSecret(settings[name]))
      throw new ProviderSettingsError(`${name} hold a secret, which a message cannot carry: give a text without it`);
}

function holdsSecret(value: JsonValue | undefined): boolean {
  if (value instanceof SecretReference) return true;
  if (isJsonList(value)) return value.some(holdsSecret);
  return isJsonObject(value) && Object.values(value).some(holdsSecret);
}
