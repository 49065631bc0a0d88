import { isJsonList, isJsonObject, type JsonObject, type JsonValue, listOf, objectOf } from "../../base/json.ts";
import { meant } from "../../base/options.ts";
import type { Settings } from "../../engine/ports/codec.ts";
import type { InferenceRequest, InferenceResponse, Provider } from "../../engine/ports/provider.ts";
import { diagnosticsOf, withDiagnostics } from "../caching/asked-diagnosis.ts";
import { requestIdOf } from "../failures/classify-error.ts";
import { createDeadline } from "../http/deadline.ts";
import { credentialsOf, type Endpoint, endpointOf, type ServerPlace, scopeOf } from "../http/endpoint.ts";
import { createSender } from "../http/http-sender.ts";
import { readAnswer } from "../http/read-answer.ts";
import { maskedProvider } from "../secrets/masked-provider.ts";
import { checkSecrets, refuseSecretsIn } from "../secrets/secret-values.ts";
import { checkedSettings, checkGiven, type OptionWords } from "../settings/checked-settings.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { messagesError } from "./errors.ts";
import { MessageStream, messageForm } from "./message-stream.ts";
import { messagesCodec, ownMembers, rewrittenMembers } from "./messages-codec.ts";
import { adjustUnsampled } from "./messages-settings.ts";
import { type AnthropicOptions, anthropicConnection, messagesSettings } from "./options.ts";
import { asksForThreads, marksIn, marksOnThreads, threadless, threadsBeta, unstored } from "./threads.ts";

/**
 * A model behind the Messages API: Anthropic's, or a compatible server at `baseURL`.
 *
 * @throws {ProviderSettingsError} if there is no API key, or a setting cannot be sent.
 */
export function anthropic(options: AnthropicOptions): Provider {
  const settings = settingsOf(options);
  const { secrets = {} } = options;
  checkSecrets(settings, secrets);
  const { version = "2026-10-21" } = options;
  const betas = betasOf(options, settings);
  const asWhom = endpointOf(options, "authorization", place);
  const told = { "anthropic-version": version, ...(betas.length === 0 ? {} : { "anthropic-beta": betas.join(",") }) };
  const endpoint: Endpoint = { ...asWhom, headers: { ...told, ...asWhom.headers } };
  const sender = createSender(endpoint, messagesError);
  const { limits, timeoutMs } = endpoint;

  async function infer({ bodyText, transport, onDelta, signal }: InferenceRequest): Promise<InferenceResponse> {
    using deadline = createDeadline(signal, timeoutMs);
    const answer = await sender.send({
      ...{ method: "POST", path: betas.length === 0 ? "/v1/messages" : "/v1/messages?beta=true" },
      bodyText,
      accept: transport === "sse" ? "text/event-stream" : "application/json",
      deadline,
    });
    const stream = new MessageStream(onDelta, limits.itemBytes);
    const response = await readAnswer(answer, { limits, deadline, onDelta, stream, form: messageForm });
    return { response, requestId: requestIdOf(answer.headers) };
  }

  const provider: Provider = {
    name: "anthropic",
    // A signature is valid in this scope (rule: Contexts and anchors): other versions of the wire read it differently.
    scope: `${scopeOf(endpoint, messagesCodec.family, options.credentialsOwner)} version=${version}`,
    codec: version < unsampledSince ? messagesCodec : { ...messagesCodec, adjust: adjustUnsampled },
    ...capabilitiesOf(options, settings),
    transport: options.transport ?? "sse",
    settings,
    systemAs: options.systemAs ?? "input",
    timeoutMs,
    infer,
  };
  return maskedProvider(provider, credentialsOf(options, endpoint, place), () => secrets);
}

const unsampledSince = "2026-10-21";

const place: ServerPlace = {
  baseURL: "https://api.anthropic.com",
  ...{ keyVariable: "ANTHROPIC_API_KEY", addressVariable: "ANTHROPIC_BASE_URL", needsKey: true },
};

function betasOf({ betas = [] }: AnthropicOptions, settings: Settings): readonly string[] {
  const asked = [
    ...(asksForThreads(settings) ? [threadsBeta] : []),
    ...(bindingIn(settings) === undefined ? [] : [bindingBeta]),
  ];
  return [...betas, ...asked.filter((beta) => !betas.includes(beta))];
}

/** What the server should do with thinking whose prefix has changed (`block_binding`). */
const bindingIn = ({ thinking }: Settings): JsonValue | undefined => objectOf(thinking)["block_binding"];

const bindingBeta = "thinking-binding-controls-2026-08-01";

function capabilitiesOf(
  { model, capabilities = {} }: AnthropicOptions,
  settings: Settings,
): Pick<Provider, "capabilities" | "configured"> {
  const { reasoningPrefix, ...others } = capabilities;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new ProviderSettingsError(`capabilities has no '${unknown}': ${meant(unknown, ["reasoningPrefix"])}`);
  return {
    capabilities: {
      // Its answers do not say what they continue, and it is not documented whether their tokens count the whole thread.
      ...(asksForThreads(settings) ? { chain: true, echo: "none", counts: "none" } : {}),
      ...(settings[marksOnThreads] === true ? { [marksOnThreads]: true } : {}),
      ...diagnosticsOf(settings),
      reasoningPrefix: reasoningPrefix ?? prefixRule(model, settings),
    },
    configured: reasoningPrefix === undefined ? [] : ["reasoningPrefix"],
  };
}

/** What a server does with thinking whose prefix has changed: it withholds it if asked to, refuses the request, or does not check. */
function prefixRule(model: string, settings: Settings): "withhold" | "ignore" | "refuse" {
  if (objectOf(bindingIn(settings))["prefix_mismatch_behavior"] === "drop_block") return "withhold";
  return looksNotAtPrefixes.test(model) ? "ignore" : "refuse";
}

/** Models before Fable 5.1 and Opus, Sonnet and Haiku 5.5 accept thinking after any prefix (Anthropic's API reference). */
const looksNotAtPrefixes =
  /^claude-(3.*|(opus|sonnet|haiku)-4(-\d{1,2})?(-\d{8})?|(opus|sonnet|haiku|fable|mythos)-5(-\d{8})?)$/;

/** Enough for long answers with thinking, and within the limit of every current model. */
const maxTokensDefault = 16_000;

/**
 * The request settings among a provider's options.
 *
 * @throws {ProviderSettingsError} if an option is unknown or not JSON, or a credential of an MCP server would be recorded.
 */
function settingsOf(given: AnthropicOptions): Settings {
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
