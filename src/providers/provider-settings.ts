import { frozenJson } from "../base/frozen-json.ts";
import { type JsonValue, setMember } from "../base/json.ts";
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
    setMember(settings, name, asJson(value, name));
  }
  return settings;
}

const refusals: ReadonlyMap<string, string> = new Map([
  ["conversation", "a conversation object keeps a context of its own; turnlog chains by response id"],
  ["prompt", "a stored prompt brings items that turnlog does not see; give instructions instead"],
]);

/** The value as JSON that nobody can change, so that what is recorded is what is sent. */
function asJson(value: unknown, name: string): JsonValue {
  try {
    // Not of its type yet: that is what is found out.
    return frozenJson(value as JsonValue, name);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new ProviderSettingsError(`the setting ${cause.message}`, { cause });
  }
}
