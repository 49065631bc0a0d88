import type { JsonObject, JsonValue } from "../base/json.ts";
import { SecretReference } from "../engine/codec/references.ts";
import { ProviderSettingsError } from "./settings-error.ts";

/** The values of secrets, by the names that `secret("NAME")` gives them. They never reach the log. */
export type Secrets = Readonly<Record<string, string>>;

/** Shorter values would be found in ordinary words: masking those would spoil what the provider says. */
export const secretLengthMin = 8;

/**
 * A body with the values of its secrets. They stand in its settings, with which it begins; what looks like one elsewhere (in
 * the input, or in an object of the caller's own) stays what it is.
 */
export function fillSecrets(bodyText: string, settings: JsonObject, secrets: Secrets): string {
  const named = JSON.stringify(settings).slice(0, -1);
  const filling = (_: string, value: unknown): unknown =>
    value instanceof SecretReference ? secretValue(value, secrets) : value;
  const filled = JSON.stringify(settings, filling).slice(0, -1);
  if (filled === named) return bodyText;
  if (!bodyText.startsWith(named)) throw new Error("the body of a request does not begin with its settings");
  return filled + bodyText.slice(named.length);
}

/**
 * The value that a secret stands for; a text stands for itself.
 *
 * @throws {ProviderSettingsError} when there is no value.
 */
export function secretValue(given: string | SecretReference, secrets: Secrets): string {
  if (typeof given === "string") return given;
  const value = Object.hasOwn(secrets, given.$secret) ? secrets[given.$secret] : undefined;
  if (value === undefined)
    throw new ProviderSettingsError(`the secret ${given.$secret} has no value: give it in secrets`);
  return value;
}

/**
 * Looks that secrets can be masked, and that every one which the settings name has a value.
 *
 * @throws {ProviderSettingsError} for one that has none, or one of less than 8 characters.
 */
export function checkSecrets(settings: JsonObject, secrets: Secrets): void {
  for (const [name, value] of Object.entries(secrets)) {
    if (typeof value !== "string") throw new ProviderSettingsError(`the secret ${name} is no text: give its value`);
    if (value.length >= secretLengthMin) continue;
    const text = `the secret ${name} has ${value.length} characters: it takes at least ${secretLengthMin}, because a shorter one cannot be told from ordinary words where the provider repeats it`;
    throw new ProviderSettingsError(text);
  }
  checkNamed(settings, secrets);
  const written = JSON.stringify(settings);
  for (const [name, value] of Object.entries(secrets)) {
    if (!written.includes(JSON.stringify(value).slice(1, -1))) continue;
    const text = `the settings hold the value of the secret ${name}, and would be recorded: write secret("${name}") in its place`;
    throw new ProviderSettingsError(text);
  }
}

function checkNamed(value: JsonValue | undefined, secrets: Secrets): void {
  if (value instanceof SecretReference) secretValue(value, secrets);
  else if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) checkNamed(member, secrets);
  }
}
