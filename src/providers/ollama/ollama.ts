import { kindOf } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { SecretReference } from "../../domain/secret-reference.ts";
import type { InferenceRequest, InferenceResponse, Provider } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { withMessage } from "../failures/classify-error.ts";
import { createDeadline } from "../http/deadline.ts";
import { credentialsOf, endpointOf, type ServerPlace } from "../http/endpoint.ts";
import { createSender } from "../http/http-sender.ts";
import { readStreamed } from "../http/read-streamed.ts";
import { maskedProvider } from "../secrets/masked-provider.ts";
import { checkSecrets, secretValue } from "../secrets/secret-values.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { ollamaCodec } from "./ollama-codec.ts";
import { addressOf, type OllamaOptions, settingsOf } from "./ollama-options.ts";
import { OllamaStream } from "./ollama-stream.ts";

/**
 * A model that Ollama serves through its own `/api/chat`. A request that exceeds the model's context is rejected with advice, where
 * Ollama's default would drop the oldest messages.
 *
 * @throws {ProviderSettingsError} if an option is unknown or not JSON, or the address is invalid.
 */
export function ollama(options: OllamaOptions): Provider {
  const settings = settingsOf(options);
  const { transport = "ndjson", secrets = {} } = options;
  checkSecrets(settings, secrets);
  const given: unknown = options.apiKey ?? process.env[place.keyVariable] ?? "";
  if (typeof given !== "string" && !(given instanceof SecretReference))
    throw new ProviderSettingsError(`ollama: apiKey is ${kindOf(given)}: give a text, or secret("NAME")`);
  const { address, query } = addressOf(options.baseURL ?? process.env["OLLAMA_HOST"] ?? "");
  const connection = { ...options, apiKey: given, baseURL: address + query };
  const endpoint = endpointOf(connection, "authorization", place);
  const { limits, timeoutMs } = endpoint;
  const sender = createSender(endpoint);

  async function infer({ bodyText, transport, signal, onDelta }: InferenceRequest): Promise<InferenceResponse> {
    using deadline = createDeadline(signal, timeoutMs);
    const accept = transport === "json" ? "application/json" : "application/x-ndjson";
    const stream = new OllamaStream(onDelta, limits.itemBytes);
    try {
      const answer = await sender.send({ method: "POST", path: "/api/chat", bodyText, accept, deadline });
      return { response: await readStreamed(answer, { limits, deadline, stream }) };
    } catch (error) {
      throw advised(error);
    }
  }

  const apiKey = secretValue("apiKey", given, secrets);
  const owner = apiKey === "" ? "" : sha256Hex(apiKey).slice(0, 12);
  const provider: Provider = {
    name: "ollama",
    scope: `ollama ${address} codec=${ollamaCodec.family} owner=${owner}`,
    codec: ollamaCodec,
    capabilities: {},
    ...{ transport, settings, timeoutMs, infer },
  };
  return maskedProvider(provider, credentialsOf(connection, endpoint, place), () => secrets);
}

const place: ServerPlace = {
  ...{ baseURL: "http://127.0.0.1:11434", keyVariable: "OLLAMA_API_KEY", addressVariable: null, needsKey: false },
};

/** Adds advice to a known error of Ollama; any other value stays as it is. */
function advised(error: unknown): unknown {
  if (!(error instanceof ProviderError)) return error;
  const { message } = error;
  const [, model] = /^model ['"](.+)['"] not found/.exec(message) ?? [];
  if (model !== undefined)
    return withMessage(
      error,
      `model '${model}' not found: run 'ollama pull ${model}', or give a model that 'ollama list' shows`,
    );
  if (error.kind === "context-length-exceeded")
    return withMessage(
      error,
      `${message}: raise options.num_ctx, or make the Turn shorter (createEngine({ compact }))`,
    );
  if (message.startsWith("cannot reach the provider"))
    return withMessage(error, `${message}: is Ollama running there? start it with 'ollama serve', or give its baseURL`);
  return error;
}
