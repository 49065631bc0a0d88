import { frozenJson } from "../base/frozen-json.ts";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../base/json.ts";
import { nearestName } from "../base/nearest-name.ts";
import { kindOf } from "../base/options.ts";
import type { Settings } from "../engine/stack/codec.ts";
import { isCredentialName } from "./credential-names.ts";
import { connectionNames, type OpenaiResponsesOptions, settingNames } from "./openai-options.ts";
import { ownMembers } from "./request-body.ts";
import { ProviderSettingsError } from "./settings-error.ts";

/**
 * The request settings among a provider's options, in the caller's order, and what `extraBody` adds to them.
 *
 * @throws {ProviderSettingsError} for a name that is no option, for what is no JSON, for settings that would put the context
 * out of our hands, and for a credential of an MCP tool that would be recorded.
 */
export function settingsOf({ extraBody, ...options }: OpenaiResponsesOptions): Settings {
  const settings: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(options)) {
    if (Object.hasOwn(connectionNames, name)) continue;
    checkSetting(name, value);
    if (!Object.hasOwn(settingNames, name) && !refusals.has(name)) throw unknownOption(name);
    if (value !== undefined) setMember(settings, name, settingJson(value, name));
  }
  for (const [name, value] of Object.entries(extraMembers(extraBody))) {
    checkSetting(name, value);
    if (Object.hasOwn(settingNames, name)) {
      throw new ProviderSettingsError(`extraBody.${name} is an option of its own: give ${name} beside extraBody`);
    }
    if (value !== undefined) setMember(settings, name, settingJson(value, `extraBody.${name}`));
  }
  checkCredentials(settings);
  if (options.transport === "websocket") checkFrame(settings);
  return settings;
}

function unknownOption(name: string): ProviderSettingsError {
  const near = otherNames.get(name) ?? nearestName(name, Object.keys({ ...connectionNames, ...settingNames }));
  const advice = near === null ? "" : `did you mean '${near}'? `;
  const text = `openaiResponses has no option '${name}': ${advice}What else belongs in the body of requests goes under extraBody`;
  return new ProviderSettingsError(text);
}

/** What other APIs call the same. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "max_output_tokens"],
  ["max_completion_tokens", "max_output_tokens"],
  ["reasoning_effort", "reasoning"],
  ["response_format", "text"],
  ["system", "instructions"],
  ["functions", "tools"],
]);

/** What is refused unless it is off. */
function checkSetting(name: string, value: unknown): void {
  const refusal = value !== undefined && value !== null && value !== false ? refusals.get(name) : undefined;
  if (refusal !== undefined) throw new ProviderSettingsError(`the setting ${name} is not supported: ${refusal}`);
  if (ownMembers.has(name)) throw new ProviderSettingsError(`${name} is no setting: every request decides it anew`);
}

const refusals: ReadonlyMap<string, string> = new Map([
  ["conversation", "a conversation object keeps a context of its own; turnlog chains by response id"],
  ["prompt", "a stored prompt brings items that turnlog does not see; give instructions instead"],
]);

function extraMembers(extraBody: unknown): object {
  if (extraBody === undefined) return {};
  if (typeof extraBody === "object" && extraBody !== null && !Array.isArray(extraBody)) return extraBody;
  throw new ProviderSettingsError(`extraBody is ${kindOf(extraBody)}: give an object of members of the request's body`);
}

/** A setting as JSON that nobody can change, so that what is recorded is what is sent. */
export function settingJson(value: unknown, name: string): JsonValue {
  try {
    // Not of its type yet: that is what is found out.
    return frozenJson(value as JsonValue, name);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new ProviderSettingsError(`the setting ${cause.message}`, { cause });
  }
}

/** What a frame says of itself, and what goes over HTTP only. */
function checkFrame(settings: JsonObject): void {
  const own = ["type", "stream_id", "generate"].find((name) => Object.hasOwn(settings, name));
  if (own !== undefined)
    throw new ProviderSettingsError(`extraBody.${own} is no setting: over WebSocket every frame says it`);
  if (settings["background"] === true)
    throw new ProviderSettingsError(
      'the setting background cannot go with transport "websocket": responses are made in the background over HTTP only; give transport "sse"',
    );
}

/** The log keeps settings as they stand: the credentials that the API has a place for are in none of them. */
function checkCredentials({ tools }: JsonObject): void {
  for (const [index, tool] of (isJsonList(tools) ? tools : []).entries()) {
    if (!isJsonObject(tool) || tool["type"] !== "mcp") continue;
    const headers = isJsonObject(tool["headers"]) ? Object.entries(tool["headers"]) : [];
    const open = [
      ...(typeof tool["authorization"] === "string" ? ["authorization"] : []),
      ...headers
        .filter(([name, value]) => typeof value === "string" && isCredentialName(name))
        .map(([name]) => `headers.${name}`),
    ];
    if (open.length === 0) continue;
    const text = `tools[${index}].${open.join(" and ")} would be recorded: write secret("NAME") there, and give the value in secrets`;
    throw new ProviderSettingsError(text);
  }
}
