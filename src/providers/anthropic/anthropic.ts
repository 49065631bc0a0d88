import { type JsonValue, objectOf } from "../../base/json.ts";
import { meant } from "../../base/options.ts";
import type { Settings } from "../../engine/ports/codec.ts";
import type { InferenceRequest, InferenceResponse, Provider } from "../../engine/ports/provider.ts";
import { diagnosticsOf } from "../caching/asked-diagnosis.ts";
import { requestIdOf } from "../failures/classify-error.ts";
import { createDeadline } from "../http/deadline.ts";
import { credentialsOf, type Endpoint, endpointOf, type ServerPlace, scopeOf } from "../http/endpoint.ts";
import { createSender } from "../http/http-sender.ts";
import { readAnswer } from "../http/read-answer.ts";
import { maskedProvider } from "../secrets/masked-provider.ts";
import { checkSecrets } from "../secrets/secret-values.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { messagesError } from "./errors.ts";
import { MessageStream, messageForm } from "./message-stream.ts";
import { messagesCodec } from "./messages-codec.ts";
import { adjustUnsampled } from "./messages-settings.ts";
import type { AnthropicOptions } from "./options.ts";
import { settingsOf } from "./provider-settings.ts";
import { asksForThreads, marksOnThreads, threadsBeta } from "./threads.ts";

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
