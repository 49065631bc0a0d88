import { rejectionOf } from "../../base/abort.ts";
import { isJsonList, isJsonObject, type JsonObject, omitMembers } from "../../base/json.ts";
import { allOf, anything, kindOf, type OptionTable } from "../../base/options.ts";
import type { InferenceRequest, InferenceResponse, Provider } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { createDeadline, type Deadline, interruption } from "../http/deadline.ts";
import { headerCredentials, variableCredentials } from "../secrets/credentials.ts";
import { maskedProvider } from "../secrets/masked-provider.ts";
import { rememberedKeys } from "../secrets/remembered-keys.ts";
import type { Masked } from "../secrets/secret-spans.ts";
import { checkSecrets, maskable } from "../secrets/secret-values.ts";
import { checkedSettings, checkGiven, type OptionWords } from "../settings/checked-settings.ts";
import {
  type HttpOptions,
  httpOptions,
  type TextOrSecret,
  type TransportOption,
  transportOption,
} from "../settings/connection-options.ts";
import { instructions } from "../settings/option-checks.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { aiSdkCodec } from "./ai-sdk-codec.ts";
import { callOptions, unknownOption } from "./call-options.ts";
import { failureOf } from "./failure.ts";
import { GeneratedStream } from "./generated.ts";
import { plainJson } from "./plain-json.ts";
import { checkSupportedUrls, mustFetch, type SupportedUrls, urlCapability } from "./supported-urls.ts";
import { createWireCapture } from "./wire-capture.ts";

/** The members of an AI SDK model that turnlog uses: a `LanguageModelV3` or newer. */
export type AiSdkModel = {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  /** The addresses that its server fetches itself; some packages have a promise of them. */
  readonly supportedUrls?: unknown;
  // The type of the options differs by version; `callOptions` makes the right one.
  doGenerate(options: never): PromiseLike<object>;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<object> }>;
};

/** The settings of requests, named as the AI SDK's call options; recorded and sent unchanged. */
export type AiSdkSettings = {
  readonly instructions?: TextOrSecret;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  /** How much a model thinks; models of V3 have their own settings for it, in `providerOptions`. */
  readonly reasoning?: "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  readonly toolChoice?:
    | { readonly type: "auto" | "none" | "required" }
    | { readonly type: "tool"; readonly toolName: string };
  readonly responseFormat?: JsonObject;
  /** Tools that the provider executes, in the AI SDK's form: `{ type: "provider", id, name, args }`. */
  readonly tools?: readonly JsonObject[];
  /** By provider: `{ anthropic: { … } }`. */
  readonly providerOptions?: JsonObject;
};

export type AiSdkOptions = AiSdkSettings &
  TransportOption &
  Pick<HttpOptions, "timeoutMs" | "secrets"> & {
    /**
     * The model, as its package makes it. A function gets a `fetch` to make it with; then each answer records the texts on the wire too,
     * under `wire`.
     */
    readonly model: AiSdkModel | ((wire: { readonly fetch: typeof globalThis.fetch }) => AiSdkModel);
    /** Names the server if one provider name is used for several: a server cannot read what another one signed. */
    readonly endpoint?: string;
    /** `sse`, the default, calls `doStream`; `json` calls `doGenerate`. */
    readonly transport?: TransportOption["transport"];
    /**
     * The addresses that the model's server fetches itself, by media type, if they differ from what the model says. turnlog leaves images
     * and files at other addresses out of requests, and records that. It fetches nothing itself.
     */
    readonly supportedUrls?: SupportedUrls;
    /**
     * Values for each `secret("NAME")` in settings, of 8 characters or more: passed to the model, never recorded, and masked wherever the
     * model repeats them. Add the key that the model was made with, unless it comes from the environment.
     */
    readonly secrets?: HttpOptions["secrets"];
  };

const settings: OptionTable<AiSdkSettings> = {
  instructions,
  ...allOf(anything, "maxOutputTokens", "temperature", "topP", "topK", "presencePenalty", "frequencyPenalty"),
  ...allOf(anything, "stopSequences", "seed", "reasoning", "toolChoice", "responseFormat", "tools", "providerOptions"),
};
const { timeoutMs, secrets } = httpOptions;
const connection: OptionTable<Omit<AiSdkOptions, keyof AiSdkSettings>> = {
  ...{ model: anything, endpoint: anything, ...transportOption, timeoutMs, secrets, supportedUrls: anything },
};

const atModel = "set it in the AI SDK package that makes the model";

const words: OptionWords = {
  ...{ provider: "aiSdk", settings, connection },
  decided: new Set(["prompt", "messages", "abortSignal", "includeRawChunks"]),
  refusals: new Map(["apiKey", "baseURL", "headers", "fetch"].map((name) => [name, atModel])),
  otherNames: new Map([
    ...["max_tokens", "maxTokens"].map((name) => [name, "maxOutputTokens"] as const),
    ...["reasoning_effort", "reasoningEffort", "thinking"].map((name) => [name, "reasoning"] as const),
    ...["output", "response_format"].map((name) => [name, "responseFormat"] as const),
    ["system", "instructions"],
    ["stop", "stopSequences"],
  ]),
};

/**
 * A provider for any model of the AI SDK, for servers that turnlog has no codec for. The log holds the exact prompt that the model was
 * given; what the SDK sends on the wire, and drops from answers, is up to the SDK.
 *
 * @example
 * const provider = aiSdk({ model: createOpenAICompatible({ name: "mine", baseURL })("my-model") });
 * @throws {ProviderSettingsError} if the model is not of V3 or newer, or a setting is not JSON or unknown to the model.
 */
export function aiSdk(options: AiSdkOptions): Provider {
  checkGiven("aiSdk", options);
  const { model: given, ...others } = options;
  const named = checkedSettings(others, words);
  const { endpoint = "", transport = "sse", timeoutMs = 600_000, secrets = {} } = options;
  const used = rememberedKeys();
  const capture = typeof given === "function" ? createWireCapture((credentials) => used.with(credentials)) : null;
  const model = typeof given === "function" ? given({ fetch: capture?.fetch ?? globalThis.fetch }) : given;
  checkModel(model);
  const settings: JsonObject = { model: model.modelId, ...named };
  if (settings["reasoning"] !== undefined && model.specificationVersion === "v3")
    throw new ProviderSettingsError(noWord("reasoning").message);
  checkSecrets(settings, secrets);
  const urls = options.supportedUrls ?? model.supportedUrls;
  if (options.supportedUrls !== undefined) checkSupportedUrls(urls);

  async function infer(request: InferenceRequest): Promise<InferenceResponse> {
    const unknown = unknownOption(request.bodyText, model.specificationVersion);
    if (unknown !== null) throw noWord(unknown);
    if (urls instanceof Promise) mustFetch(request.bodyText, await (urls as Promise<SupportedUrls>));
    using deadline = createDeadline(request.signal, timeoutMs);
    used.with(variableCredentials(process.env));
    // Not awaited: the model waits for the same headers itself before it sends.
    void modelCredentials(model).then(used.with);
    const ask = (): Promise<JsonObject> =>
      request.transport === "sse" ? stream(model, request, deadline) : generate(model, request, deadline);
    if (capture === null) return { response: await ask() };
    const { result, wire } = await capture.during(ask);
    return { response: { ...result, wire } };
  }

  const provider: Provider = {
    name: "ai-sdk",
    scope: `ai-sdk provider=${model.provider} endpoint=${endpoint} codec=${aiSdkCodec.family}`,
    codec: aiSdkCodec,
    ...urlsTaken(urls, options),
    transport,
    settings,
    timeoutMs,
    infer,
  };
  return maskedProvider(
    provider,
    () => used.with(maskable(secrets)),
    () => secrets,
  );
}

/** A model that does not list its addresses, or only as a promise, counts as accepting every address. */
function urlsTaken(
  urls: unknown,
  { supportedUrls }: Pick<AiSdkOptions, "supportedUrls">,
): Pick<Provider, "capabilities" | "configured"> {
  if (urls === undefined || urls === null || urls instanceof Promise) return { capabilities: {} };
  checkSupportedUrls(urls);
  const configured = supportedUrls === undefined ? [] : ["supportedUrls"];
  return { capabilities: { supportedUrls: urlCapability(urls) }, configured };
}

function checkModel(model: unknown): asserts model is AiSdkModel {
  const advice = 'give a model made by a package of the AI SDK, such as anthropic("claude-…")';
  if (typeof model !== "object" || model === null)
    throw new ProviderSettingsError(`aiSdk: model is ${kindOf(model)}: ${advice}`);
  const lacking = Object.entries(modelMembers).find(([name, type]) => typeof Reflect.get(model, name) !== type);
  if (lacking !== undefined) throw new ProviderSettingsError(`aiSdk: model has no ${lacking[0]}: ${advice}`);
  const version: unknown = Reflect.get(model, "specificationVersion");
  if (version === "v1" || version === "v2")
    throw new ProviderSettingsError(
      `aiSdk: model has the specification ${version}, and v3 is the oldest supported: use AI SDK 6 or newer`,
    );
}

const modelMembers = {
  ...{ specificationVersion: "string", provider: "string", modelId: "string" },
  ...{ doGenerate: "function", doStream: "function" },
} as const;

const noWord = (option: string): ProviderError =>
  new ProviderError(`models of V3 have no ${option}: set it in providerOptions, as the provider names it`, {
    ...{ kind: "invalid-request", outcome: "rejected" },
  });

async function generate(model: AiSdkModel, request: InferenceRequest, deadline: Deadline): Promise<JsonObject> {
  const generated = new GeneratedStream(request.onDelta);
  const inTime = timed(deadline, generated);
  const result = plainJson(await inTime(() => model.doGenerate(optionsFor(model, request, deadline))));
  const { content, response } = result;
  if (isJsonList(content)) generated.takeWhole(content.filter(isJsonObject));
  return {
    ...omitMembers(result, aboutWire),
    ...(isJsonObject(response) ? { response: omitMembers(response, aboutWire) } : {}),
  };
}

async function stream(model: AiSdkModel, request: InferenceRequest, deadline: Deadline): Promise<JsonObject> {
  const generated = new GeneratedStream(request.onDelta);
  const inTime = timed(deadline, generated);
  const { stream: parts } = await inTime(() => model.doStream(optionsFor(model, request, deadline)));
  const reader = parts.getReader();
  try {
    for (;;) {
      const { done, value } = await inTime(() => reader.read(), brokenOff);
      if (done) break;
      const part = plainJson(value);
      if (part["type"] === "error") throw brokenOff(Reflect.get(value, "error"), generated.partial);
      generated.take(part);
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
  if (generated.result !== null) return generated.result;
  throw cut({ partial: generated.partial });
}

/** The error that ended a stream after it had begun: a broken connection then counts as a cut stream. */
function brokenOff(error: unknown, partial: readonly JsonObject[]): ProviderError {
  const failure = failureOf(error, partial);
  return failure.kind === "connection" ? cut({ partial, cause: failure }) : failure;
}

function cut({ partial, cause }: { readonly partial: readonly JsonObject[]; readonly cause?: Error }): ProviderError {
  const why = cause === undefined ? "" : `: ${cause.message}`;
  return new ProviderError(`the model's stream broke off before it was complete${why}`, {
    ...{ kind: "stream-cut", outcome: "unknown", partial, cause },
  });
}

/** Members of a result about the wire, whose request repeats the prompt; `wire` has them if they are captured. */
const aboutWire: ReadonlySet<string> = new Set(["request", "headers", "body"]);

/** The cast is safe: the options differ by version, and `callOptions` makes those of the model's version. */
const optionsFor = (model: AiSdkModel, { bodyText }: InferenceRequest, { signal }: Deadline): never =>
  ({ ...callOptions(bodyText, model.specificationVersion), abortSignal: signal }) as never;

/** Limits a call to the deadline, even if the model ignores its signal. */
function timed(deadline: Deadline, generated: Pick<GeneratedStream, "partial">) {
  const aborted = rejectionOf(deadline.signal);
  return async <T>(work: () => PromiseLike<T>, failed: typeof brokenOff = failureOf): Promise<T> => {
    try {
      return await Promise.race([work(), aborted]);
    } catch (error) {
      throw interruption(deadline, generated.partial) ?? failed(error, generated.partial);
    }
  };
}

/**
 * The credentials in the headers that a model of the AI SDK sends. Packages of the SDK keep the headers as `config.headers`, or a function
 * that returns them. If a model has no such member, or the function fails as it will fail when the model is called, there is nothing to
 * mask.
 */
async function modelCredentials(model: object): Promise<Masked> {
  try {
    const config: unknown = Reflect.get(model, "config");
    if (typeof config !== "object" || config === null) return [];
    const given: unknown = Reflect.get(config, "headers");
    const headers: unknown = await (typeof given === "function" ? Reflect.apply(given, config, []) : given);
    if (typeof headers !== "object" || headers === null) return [];
    const texts = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === "string");
    return headerCredentials(Object.fromEntries(texts));
  } catch {
    return [];
  }
}
