import { isJsonObject, type JsonObject, listOf, objectOf } from "../../base/json.ts";
import type { Settings } from "../../engine/ports/codec.ts";
import { isCredentialName } from "../secrets/credentials.ts";
import { checkedSettings, type OptionWords } from "../settings/checked-settings.ts";
import { connectionOptions } from "../settings/connection-options.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { withoutOff } from "./cache-members.ts";
import { ownMembers } from "./request-body.ts";
import { type OpenaiResponsesOptions, settingOptions } from "./responses-options.ts";

/**
 * The request settings among the options of the Responses API.
 *
 * @throws {ProviderSettingsError} if an option is unknown or not JSON, a setting would let the server decide the context, or a credential
 * of an MCP tool would be recorded.
 */
export function settingsOf(options: OpenaiResponsesOptions, provider = "openaiResponses"): Settings {
  const settings = withoutOff(checkedSettings(options, { ...words, provider }));
  checkDiagnostics(settings);
  checkCredentials(settings);
  if (options.transport === "websocket") checkFrame(settings);
  return settings;
}

/** The id is another for each request. */
function checkDiagnostics({ cacheDiagnostics, prompt_cache_options: options }: Settings): void {
  if (cacheDiagnostics === true && objectOf(options)["comparison_response_id"] !== undefined)
    throw new ProviderSettingsError(
      "prompt_cache_options.comparison_response_id cannot go with cacheDiagnostics, which fills it in for each request: leave one of them out",
    );
}

/** Names in other APIs. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "max_output_tokens"],
  ["max_completion_tokens", "max_output_tokens"],
  ["maxTokens", "max_output_tokens"],
  ["reasoning_effort", "effort"],
  ["reasoningEffort", "effort"],
  ["thinking", "reasoning"],
  ["response_format", "text"],
  ["system", "instructions"],
  ["functions", "tools"],
]);

const refusals: ReadonlyMap<string, string> = new Map([
  [
    "conversation",
    "the engine makes conversation objects itself: give createEngine mode 'conversation'; importConversation reads an existing one",
  ],
  ["prompt", "a stored prompt adds items that turnlog does not see; give instructions instead"],
]);

const words: OptionWords = {
  ...{ provider: "openaiResponses", connection: connectionOptions, settings: settingOptions },
  ...{ decided: ownMembers, refusals, otherNames },
  members: { reasoning: ["effort", "summary"], text: ["format", "verbosity"] },
};

/** Rejects members that a WebSocket frame sets itself, and those that work over HTTP only. */
function checkFrame(settings: JsonObject): void {
  const own = ["type", "stream_id", "generate"].find((name) => Object.hasOwn(settings, name));
  if (own !== undefined)
    throw new ProviderSettingsError(`extraBody.${own} is not a setting: every WebSocket frame has it`);
  if (settings["background"] === true)
    throw new ProviderSettingsError(
      'the setting background cannot go with transport "websocket": background responses need HTTP; give transport "sse"',
    );
}

/** The log records settings unchanged, so the fields that the API has for credentials must not hold any. */
function checkCredentials({ tools }: JsonObject): void {
  for (const [index, tool] of listOf(tools).entries()) {
    if (!isJsonObject(tool) || tool["type"] !== "mcp") continue;
    const headers = isJsonObject(tool["headers"]) ? Object.entries(tool["headers"]) : [];
    const open = [
      ...(typeof tool["authorization"] === "string" ? ["authorization"] : []),
      ...headers
        .filter(([name, value]) => typeof value === "string" && isCredentialName(name))
        .map(([name]) => `headers.${name}`),
    ];
    if (open.length === 0) continue;
    const text = `tools[${index}].${open.join(" and ")} would be recorded: write secret("NAME") instead, and give the value in secrets`;
    throw new ProviderSettingsError(text);
  }
}
