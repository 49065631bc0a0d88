import { jsonOpaque } from "../base/frozen-json.ts";
import { isJsonList, isJsonObject, type JsonValue } from "../base/json.ts";

/**
 * Rejects content that names a secret. It would be sent by its name, because turnlog resolves secrets only in a provider's settings. A
 * plain object that looks like a secret is content like any other.
 *
 * @throws {TypeError} with the place of the secret.
 */
export function refuseSecrets(content: JsonValue, place: string): void {
  if (!isJsonList(content) && !isJsonObject(content)) return;
  if (jsonOpaque in content && "$secret" in content) {
    throw new TypeError(`${place} is a secret: give secrets only in a provider's settings, headers or key`);
  }
  for (const [name, member] of Object.entries(content)) {
    refuseSecrets(member ?? null, isJsonList(content) ? `${place}[${name}]` : `${place}.${name}`);
  }
}
