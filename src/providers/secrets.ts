import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../base/json.ts";
import { SecretReference, secretReference } from "../engine/codec/references.ts";
import { ProviderSettingsError } from "./provider-settings.ts";

/** The values of secrets, by the names that settings give them. They never reach the log. */
export type Secrets = Readonly<Record<string, string>>;

/** Puts the values into a body that names its secrets. An object of text that only looks so is escaped in JSON. */
export function fillSecrets(bodyText: string, secrets: Secrets): string {
  let filled = bodyText;
  for (const [name, value] of Object.entries(secrets)) {
    filled = filled.replaceAll(JSON.stringify({ $secret: name }), () => JSON.stringify(value));
  }
  return filled;
}

/** The names again, where a server echoes a value. */
function maskSecrets(value: JsonValue, secrets: Secrets): JsonValue {
  if (typeof value === "string") {
    const secret = Object.entries(secrets).find(([, text]) => text === value);
    return secret === undefined ? value : secretReference(secret[0]);
  }
  if (isJsonList(value)) return value.map((member) => maskSecrets(member, secrets));
  return isJsonObject(value) ? maskMembers(value, secrets) : value;
}

export function maskMembers(object: JsonObject, secrets: Secrets): JsonObject {
  if (Object.keys(secrets).length === 0) return object;
  const masked: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(object)) {
    if (member !== undefined) setMember(masked, name, maskSecrets(member, secrets));
  }
  return masked;
}

/**
 * Looks that every secret which the settings name has a value.
 *
 * @throws {ProviderSettingsError} for one that has none.
 */
export function checkSecrets(settings: JsonValue, secrets: Secrets): void {
  if (settings instanceof SecretReference) {
    if (Object.hasOwn(secrets, settings.$secret)) return;
    throw new ProviderSettingsError(`the secret ${settings.$secret} has no value: give it in secrets`);
  }
  if (settings === null || typeof settings !== "object") return;
  for (const member of Object.values(settings)) if (member !== undefined) checkSecrets(member, secrets);
}
