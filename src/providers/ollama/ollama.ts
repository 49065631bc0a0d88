import { kindOf } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { InferenceRequest, InferenceResponse, Provider } from "../../engine/stack/provider.ts";
import { answerLimits } from "../answer-limits.ts";
import { isCredentialName } from "../credential-names.ts";
import { createDeadline } from "../deadline.ts";
import { sendHttp } from "../http-sender.ts";
import { maskedInference } from "../masked-provider.ts";
import { readStreamed } from "../read-streamed.ts";
import type { Masked } from "../secret-spans.ts";
import { secretLengthMin } from "../secrets.ts";
import { ProviderSettingsError } from "../settings-error.ts";
import { ollamaCodec } from "./ollama-codec.ts";
import { advised } from "./ollama-error.ts";
import { addressOf, type OllamaOptions, settingsOf } from "./ollama-options.ts";
import { OllamaStream } from "./ollama-stream.ts";

export type { AnswerLimits } from "../answer-limits.ts";
export { ollamaCodec } from "./ollama-codec.ts";
export type { OllamaConnection, OllamaOptions, OllamaSettings } from "./ollama-options.ts";

/**
 * A model that Ollama serves, over its own `/api/chat`. A request that is longer than the model's context is refused with what to do, where
 * Ollama by itself would leave out the oldest messages.
 *
 * @throws {ProviderSettingsError} for a name that is no option, and for what is no JSON or no address.
 */
export function ollama(options: OllamaOptions): Provider {
  const settings = settingsOf(options);
  const { transport = "ndjson", timeoutMs = 600_000, headers = {} } = options;
  const apiKey = options.apiKey ?? process.env["OLLAMA_API_KEY"] ?? "";
  if (typeof apiKey !== "string") throw new ProviderSettingsError(`ollama: apiKey is ${kindOf(apiKey)}: give a text`);
  const baseURL = addressOf(options.baseURL ?? process.env["OLLAMA_HOST"] ?? "");
  const limits = answerLimits(options.limits);
  // Looked up at each request, so that a replaced global one is used.
  const fetch = options.fetch ?? ((address, init) => globalThis.fetch(address, init));
  const sent = { ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }), ...headers };

  async function infer({ bodyText, transport, signal, onDelta }: InferenceRequest): Promise<InferenceResponse> {
    using deadline = createDeadline(signal, timeoutMs);
    const accept = transport === "json" ? "application/json" : "application/x-ndjson";
    const posting = { method: "POST", bodyText, headers: sent, accept, fetch, limits, deadline } as const;
    const stream = new OllamaStream(onDelta, limits.itemBytes);
    try {
      const answer = await sendHttp(`${baseURL}/api/chat`, posting);
      return { response: await readStreamed(answer, { limits, deadline, stream }) };
    } catch (error) {
      throw advised(error);
    }
  }

  const owner = apiKey === "" ? "" : sha256Hex(apiKey).slice(0, 12);
  const provider: Provider = {
    name: "ollama",
    scope: `ollama ${baseURL} codec=${ollamaCodec.family} owner=${owner}`,
    codec: ollamaCodec,
    capabilities: {},
    ...{ transport, settings, timeoutMs, infer },
  };
  const secrets = maskedOf(apiKey, headers);
  return maskedInference(provider, () => secrets);
}

/** All that requests carry and nobody may read in what the server says. */
function maskedOf(apiKey: string, headers: Readonly<Record<string, string>>): Masked {
  const named = Object.entries(headers).filter(([name]) => isCredentialName(name));
  const values = named.flatMap(([name, value]) =>
    [value, value.slice(value.lastIndexOf(" ") + 1)].map((text) => ({ name: `headers.${name}`, value: text })),
  );
  return [{ name: "apiKey", value: apiKey }, ...values].filter(({ value }) => value.length >= secretLengthMin);
}
