import { definedMembers } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import { type PartCapabilities, partCapabilityNames } from "../../engine/ports/part-capabilities.ts";
import type { InferenceRequest, InferenceResponse, Provider } from "../../engine/ports/provider.ts";
import { breakpointsOf } from "../caching/cache-breakpoints.ts";
import { requestIdOf } from "../failures/classify-error.ts";
import { createDeadline } from "../http/deadline.ts";
import { credentialsOf, endpointOf, type KeyHeader, openaiPlace, type ServerPlace, scopeOf } from "../http/endpoint.ts";
import { createSender } from "../http/http-sender.ts";
import { readAnswer } from "../http/read-answer.ts";
import { maskedProvider } from "../secrets/masked-provider.ts";
import { checkSecrets, refuseSecretsIn } from "../secrets/secret-values.ts";
import { checkedSettings, type OptionWords } from "../settings/checked-settings.ts";
import { wordOf } from "../settings/option-checks.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { checkedBreakpoints } from "./chat-breakpoints.ts";
import { chatCodecs } from "./chat-codec.ts";
import { type ChatDialect, type ChatDialectName, chatDialects } from "./chat-dialects.ts";
import { type ChatCompletionsOptions, chatConnection, chatSettings } from "./chat-options.ts";
import { ChatStream, completionForm } from "./chat-stream.ts";

/**
 * A model behind any server of Chat Completions. Such servers store nothing: every request sends the whole Turn.
 *
 * @throws {ProviderSettingsError} if a required API key is missing, or a setting cannot be sent.
 */
export const chatCompletions = (options: ChatCompletionsOptions): Provider =>
  chatProvider(options, { where: "chatCompletions", keyHeader: "authorization" });

/** The function that the caller called, and what replaces the dialect's defaults: the provider's name, the address, the header for the key. */
type ChatMaker = {
  readonly where: string;
  readonly name?: string;
  readonly place?: ServerPlace;
  readonly keyHeader: KeyHeader;
};

/** @internal The same, for endpoints that expect their key in another header. */
export function chatProvider(options: ChatCompletionsOptions, { where, keyHeader, ...maker }: ChatMaker): Provider {
  // First, because it says so where there are no options.
  const checked = checkedSettings(options, { ...words, provider: where });
  const { secrets = {}, dialect = "openai", transport = "sse" } = options;
  const settings = checkedBreakpoints(where, dialect, checked);
  checkSecrets(settings, secrets);
  refuseSecretsIn(settings, rewritten);
  const codec = chatCodecs[dialect];
  const { name = `chat-${dialect}`, place = places[dialect] } = maker;
  const endpoint = endpointOf(options, keyHeader, place);
  const sender = createSender(endpoint);
  const { limits, timeoutMs } = endpoint;

  async function infer(request: InferenceRequest): Promise<InferenceResponse> {
    const { bodyText, onDelta } = request;
    using deadline = createDeadline(request.signal, timeoutMs);
    const accept = request.transport === "sse" ? "text/event-stream" : "application/json";
    const answer = await sender.send({ method: "POST", path: "/chat/completions", bodyText, accept, deadline });
    const stream = new ChatStream(onDelta, limits.itemBytes);
    const response = await readAnswer(answer, { limits, deadline, onDelta, stream, form: completionForm });
    return { response, requestId: requestIdOf(answer.headers) };
  }

  const taken = partsTaken(where, dialect, options.capabilities);
  const provider: Provider = {
    name,
    scope: scopeOf(endpoint, codec.family, options.credentialsOwner),
    ...taken,
    capabilities: { ...taken.capabilities, ...breakpointsOf(settings) },
    ...{ codec, transport, settings, timeoutMs, infer },
  };
  return maskedProvider(provider, credentialsOf(options, endpoint, place), () => secrets);
}

/** The parts that the dialect lacks, and those that the caller has fixed. */
function partsTaken(
  where: string,
  dialect: ChatDialectName,
  given: PartCapabilities = {},
): Pick<Provider, "capabilities" | "configured"> {
  const { lacks = [] }: ChatDialect = chatDialects[dialect];
  for (const [name, value] of Object.entries<unknown>(given)) {
    wordOf(...partCapabilityNames)(`${where}: capabilities`, name);
    if (value !== undefined && typeof value !== "boolean")
      throw new ProviderSettingsError(`${where}: capabilities.${name} is ${kindOf(value)}: give true or false`);
  }
  const lacking = Object.fromEntries(lacks.map((name) => [name, false]));
  const set = definedMembers(given);
  return { capabilities: { ...lacking, ...set }, configured: Object.keys(set) };
}

/** Settings that a body has in another form. */
const rewritten: readonly string[] = ["instructions", "tools", "stream_options"];

/** The addresses of each dialect's servers, from their documentation. */
const places: Readonly<Record<ChatDialectName, ServerPlace>> = {
  openai: openaiPlace,
  deepseek: hosted("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
  mistral: hosted("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
  groq: hosted("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
  openrouter: hosted("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
  "gemini-openai": hosted("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
  vllm: ownServer("http://127.0.0.1:8000/v1", "VLLM_API_KEY"),
  "llama.cpp": ownServer("http://127.0.0.1:8080/v1", "LLAMA_API_KEY"),
  ollama: ownServer("http://127.0.0.1:11434/v1", "OLLAMA_API_KEY"),
};

function hosted(baseURL: string, keyVariable: string): ServerPlace {
  return { baseURL, keyVariable, addressVariable: null, needsKey: true };
}

function ownServer(baseURL: string, keyVariable: string): ServerPlace {
  return { baseURL, keyVariable, addressVariable: null, needsKey: false };
}

const words: OptionWords = {
  provider: "chatCompletions",
  ...{ connection: chatConnection, settings: chatSettings },
  decided: new Set(["messages", "stream"]),
  refusals: new Map([
    ["input", "turnlog makes messages from the conversation: append to it"],
    ["n", "turnlog reads one answer of a response"],
    ["functions", "servers have replaced it: give tools"],
    ["function_call", "servers have replaced it: give tool_choice"],
  ]),
  otherNames: new Map([
    ["maxOutputTokens", "max_completion_tokens"],
    ["max_output_tokens", "max_completion_tokens"],
    ["reasoning", "reasoning_effort"],
    ["effort", "reasoning_effort"],
    ["text", "response_format"],
    ["system", "instructions"],
  ]),
};
