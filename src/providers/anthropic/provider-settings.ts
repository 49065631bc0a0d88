import { isJsonList, isJsonObject, type JsonObject, type JsonValue, listOf } from "../../base/json.ts";
import type { Settings } from "../../engine/ports/codec.ts";
import { withDiagnostics } from "../caching/asked-diagnosis.ts";
import { refuseSecretsIn } from "../secrets/secret-values.ts";
import { checkedSettings, checkGiven, type OptionWords } from "../settings/checked-settings.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { ownMembers, rewrittenMembers } from "./messages-codec.ts";
import { type AnthropicOptions, anthropicConnection, messagesSettings } from "./options.ts";
import { asksForThreads, marksIn, marksOnThreads, threadless, unstored } from "./threads.ts";

/** Enough for long answers with thinking, and within the limit of every current model. */
const maxTokensDefault = 16_000;

/**
 * The request settings among a provider's options.
 *
 * @throws {ProviderSettingsError} if an option is unknown or not JSON, or a credential of an MCP server would be recorded.
 */
export function settingsOf(given: AnthropicOptions): Settings {
  checkGiven("anthropic", given);
  const { model, max_tokens: maxTokens, ...options } = given;
  const checked = checkedSettings({ model, ...options }, words);
  const asked: Settings = { model, max_tokens: maxTokens ?? maxTokensDefault, ...checked };
  const threaded = asked["threads"] === false ? unstored(asked) : asked;
  checkThreads(threaded);
  checkDiagnostics(threaded);
  const settings = withDiagnostics(withCache(threaded));
  checkInstructions(settings["instructions"]);
  checkCredentials(settings);
  refuseSecretsIn(settings, rewrittenMembers);
  return settings;
}

const words: OptionWords = {
  ...{ provider: "anthropic", connection: anthropicConnection, settings: messagesSettings, decided: ownMembers },
  members: {
    output_config: ["effort", "format"],
    thinking: ["budget_tokens"],
    tool_choice: ["disable_parallel_tool_use"],
  },
  refusals: new Map([
    ["system", "turnlog calls it instructions: give instructions, or append a system message"],
    ["input", "turnlog makes messages from the conversation: append to it"],
  ]),
  otherNames: new Map([
    ["max_output_tokens", "max_tokens"],
    ["max_completion_tokens", "max_tokens"],
    ["maxOutputTokens", "max_tokens"],
    ["reasoning", "thinking"],
    ["reasoning_effort", "effort"],
    ["reasoningEffort", "effort"],
    ["response_format", "output_config"],
    ["stop", "stop_sequences"],
  ]),
};

function checkThreads(settings: Settings): void {
  const { threads } = settings;
  if (threads === undefined) return;
  if (threads !== true) throw new ProviderSettingsError("threads must be true or false");
  const [first] = threadless(settings);
  if (first !== undefined)
    throw new ProviderSettingsError(
      `${first} cannot go with threads, because the server rejects the two together: leave one of them out`,
    );
}

/** The id in `diagnostics` is another for each request. */
function checkDiagnostics({ cacheDiagnostics, diagnostics }: Settings): void {
  if (cacheDiagnostics === true && diagnostics !== undefined)
    throw new ProviderSettingsError(
      "diagnostics cannot go with cacheDiagnostics, which fills it in for each request: leave one of them out",
    );
}

/** Cache breakpoints are set by turnlog, by the caller, or not at all. */
function withCache({ cache, [marksOnThreads]: onThreads, ...others }: Settings): Settings {
  const isOnThreads = onThreads === true;
  const isThread = asksForThreads(others);
  if (isOnThreads && (!isThread || cache === false))
    throw new ProviderSettingsError("cacheOnThreads goes with threads: true, and without cache: false");
  const settings: Settings = isOnThreads ? { ...others, [marksOnThreads]: true } : others;
  const [own] = isThread && !isOnThreads ? ["threads"] : marksIn(settings);
  if (cache === false || (cache === undefined && own !== undefined)) return settings;
  if (own !== undefined)
    throw new ProviderSettingsError(
      `cache cannot go with ${own}: leave one of them out; ${
        isThread
          ? "cacheOnThreads: true sets breakpoints on threads"
          : "without cache turnlog sets no cache breakpoints"
      }`,
    );
  const ttl = isJsonObject(cache) && Object.keys(cache).length === 1 ? cache["ttl"] : undefined;
  if (cache !== undefined && cache !== true && ttl !== "5m" && ttl !== "1h")
    throw new ProviderSettingsError('cache must be true, false, { ttl: "5m" } or { ttl: "1h" }');
  return { ...settings, cache: cache ?? true };
}

function checkInstructions(instructions: JsonValue | undefined): void {
  if (instructions === undefined || typeof instructions === "string") return;
  if (isJsonList(instructions) && instructions.every(isJsonObject) && instructions.every(({ type }) => type === "text"))
    return;
  throw new ProviderSettingsError('instructions must be a text, or a list of blocks such as { type: "text", text }');
}

/** The log records settings unchanged, so they must not hold credentials. */
function checkCredentials({ mcp_servers: servers }: JsonObject): void {
  for (const [index, server] of listOf(servers).entries())
    if (isJsonObject(server) && typeof server["authorization_token"] === "string")
      throw new ProviderSettingsError(
        `mcp_servers[${index}].authorization_token would be recorded: write secret("NAME") instead, and give the value in secrets`,
      );
}
