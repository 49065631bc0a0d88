import { jsonOpaque } from "../base/frozen-json.ts";
import { isJsonList, isJsonObject, type JsonValue } from "../base/json.ts";

/**
 * Refuses content that names a secret: it would be sent by its name, for only a provider's settings are searched for secrets. A
 * plain object that looks like one says what it says.
 *
 * @throws {TypeError} with the place of the secret.
 */
export function refuseSecrets(content: JsonValue, place: string): void {
  if (!isJsonList(content) && !isJsonObject(content)) return;
  if (jsonOpaque in content && "$secret" in content) {
    throw new TypeError(`${place} is a secret: those stand in a provider's settings, headers or key only`);
  }
  for (const [name, member] of Object.entries(content)) {
    refuseSecrets(member ?? null, isJsonList(content) ? `${place}[${name}]` : `${place}.${name}`);
  }
}
