import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../base/json.ts";
import { SecretReference } from "../engine/codec/references.ts";
import type { Settings } from "../engine/ports/provider.ts";
import { ownMembers } from "./request-body.ts";

/** A provider was configured with what cannot be sent. */
export class ProviderSettingsError extends Error {
  override readonly name = "ProviderSettingsError";
  readonly code = "provider-settings";
}

/**
 * The request settings among a provider's options, in the caller's order.
 *
 * @throws {ProviderSettingsError} for what is no JSON, and for settings that would put the context out of our hands.
 */
export function settingsOf(options: Readonly<Record<string, unknown>>, notSettings: ReadonlySet<string>): Settings {
  const settings: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(options)) {
    if (notSettings.has(name) || value === undefined) continue;
    const isWanted = value !== null && value !== false;
    const refusal = isWanted ? refusals.get(name) : undefined;
    if (refusal !== undefined) throw new ProviderSettingsError(`the setting ${name} is not supported: ${refusal}`);
    if (ownMembers.has(name)) throw new ProviderSettingsError(`${name} is no setting: every request decides it anew`);
    setMember(settings, name, jsonCopy(value, name));
  }
  return settings;
}

const refusals: ReadonlyMap<string, string> = new Map([
  ["conversation", "a conversation object keeps a context of its own; turnlog chains by response id"],
  ["prompt", "a stored prompt brings items that turnlog does not see; give instructions instead"],
]);

/** The value as JSON, so that what is recorded is what is sent. Members that are undefined are left out. */
function jsonCopy(value: unknown, path: string): JsonValue {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (isJsonList(value)) return value.map((member: unknown, index) => jsonCopy(member, `${path}[${index}]`));
  if (value instanceof SecretReference) return value;
  if (!isPlainObject(value)) throw new ProviderSettingsError(`the setting ${path} is no JSON`);
  const copy: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) setMember(copy, name, jsonCopy(member, `${path}.${name}`));
  }
  return copy;
}

function isPlainObject(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
