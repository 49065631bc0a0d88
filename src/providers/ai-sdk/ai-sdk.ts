import { rejectionOf } from "../../base/abort.ts";
import { isJsonList, isJsonObject, type JsonObject, omitMembers } from "../../base/json.ts";
import { allOf, anything, kindOf, type OptionTable } from "../../base/options.ts";
import {
  type InferenceRequest,
  type InferenceResponse,
  type Provider,
  ProviderError,
} from "../../engine/stack/provider.ts";
import { createDeadline, type Deadline, interruption } from "../http/deadline.ts";
import { variableCredentials } from "../secrets/credentials.ts";
import { maskedProvider } from "../secrets/masked-provider.ts";
import { rememberedKeys } from "../secrets/remembered-keys.ts";
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
import { modelCredentials } from "./model-credentials.ts";
import { plainJson } from "./plain-json.ts";
import { checkSupportedUrls, mustFetch, type SupportedUrls, urlCapability } from "./supported-urls.ts";
import { createWireCapture } from "./wire-capture.ts";

/** A model of the AI SDK, as far as it is used here: a `LanguageModelV3` or a newer one. */
export type AiSdkModel = {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  /** The addresses that its server fetches by itself; a promise of them in some packages. */
  readonly supportedUrls?: unknown;
  // Versions take options of different types: what they have in common is made in one place.
  doGenerate(options: never): PromiseLike<object>;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<object> }>;
};

/** What requests say besides the Turn, in the words of the AI SDK's call options; recorded, and sent, as they stand. */
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
  /** How much a model thinks; models of V3 have their own words for it, in `providerOptions`. */
  readonly reasoning?: "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  readonly toolChoice?:
    | { readonly type: "auto" | "none" | "required" }
    | { readonly type: "tool"; readonly toolName: string };
  readonly responseFormat?: JsonObject;
  /** Tools that the provider executes, as the AI SDK has them: `{ type: "provider", id, name, args }`. */
  readonly tools?: readonly JsonObject[];
  /** By provider: `{ anthropic: { … } }`. */
  readonly providerOptions?: JsonObject;
};

export type AiSdkOptions = AiSdkSettings &
  TransportOption &
  Pick<HttpOptions, "timeoutMs" | "secrets"> & {
    /**
     * The model, as its package makes it. A function gets a `fetch` to make it with; with that the texts that went over the wire
     * are recorded too, in each answer under `wire`.
     */
    readonly model: AiSdkModel | ((wire: { readonly fetch: typeof globalThis.fetch }) => AiSdkModel);
    /** Names the server where several are reached by one name of a provider: what one of them has signed, another cannot read. */
    readonly endpoint?: string;
    /** `sse`, when absent: `doStream`. `json`: `doGenerate`. */
    readonly transport?: TransportOption["transport"];
    /**
     * The addresses that the model's server fetches by itself, by media type, where the model says otherwise: images and files at other
     * addresses are left out of requests, and that is on record. Nothing is fetched here.
     */
    readonly supportedUrls?: SupportedUrls;
    /**
     * Values for what is `secret("NAME")` in settings, of 8 characters or more: given to the model, never recorded, and masked wherever it
     * repeats them. Give the key here that the model was made with, too, unless it stands in the environment.
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

const atModel = "give it to the package of the AI SDK that makes the model";

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
 * A provider of any model of the AI SDK, for servers that turnlog has no codec of its own for. What the log holds of a request is the
 * exact prompt that the model was given; what the SDK makes of that for the wire, and loses of answers, is its own affair.
 *
 * @example
 * const provider = aiSdk({ model: createOpenAICompatible({ name: "mine", baseURL })("my-model") });
 * @throws {ProviderSettingsError} for what is no model of V3 or newer, and a setting that is no JSON or that the model has no word for.
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
    // The model waits for its headers as well, and then for its server.
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

/** A model that says nothing, or only when it is asked, is believed to take every address. */
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
  const advice = 'give a model that a package of the AI SDK made, such as anthropic("claude-…")';
  if (typeof model !== "object" || model === null)
    throw new ProviderSettingsError(`aiSdk: model is ${kindOf(model)}: ${advice}`);
  const lacking = Object.entries(modelMembers).find(([name, type]) => typeof Reflect.get(model, name) !== type);
  if (lacking !== undefined) throw new ProviderSettingsError(`aiSdk: model has no ${lacking[0]}: ${advice}`);
  const version: unknown = Reflect.get(model, "specificationVersion");
  if (version === "v1" || version === "v2")
    throw new ProviderSettingsError(
      `aiSdk: model is of specification ${version}, and v3 is the oldest that is taken: use AI SDK 6 or newer`,
    );
}

const modelMembers = {
  ...{ specificationVersion: "string", provider: "string", modelId: "string" },
  ...{ doGenerate: "function", doStream: "function" },
} as const;

const noWord = (option: string): ProviderError =>
  new ProviderError(`models of V3 take no ${option}: say it in providerOptions, in the words of the provider`, {
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

/** What a stream that had begun ended with: a connection that broke then has cut the answer. */
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

/** What a result tells of the wire, whose request is the prompt once more: `wire` has it, where it is captured. */
const aboutWire: ReadonlySet<string> = new Set(["request", "headers", "body"]);

/** The options differ by version, and `callOptions` makes them of the version of the model. */
const optionsFor = (model: AiSdkModel, { bodyText }: InferenceRequest, { signal }: Deadline): never =>
  ({ ...callOptions(bodyText, model.specificationVersion), abortSignal: signal }) as never;

/** Waits for a model no longer than until the deadline, whether it looks at its signal or not. */
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
