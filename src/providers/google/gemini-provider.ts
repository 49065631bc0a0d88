import { isJsonObject, type JsonObject, jsonOf, textOrEmpty } from "../../base/json.ts";
import type { InferenceRequest, InferenceResponse, Provider } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { requestIdOf } from "../failures/classify-error.ts";
import { createDeadline, type Deadline } from "../http/deadline.ts";
import { sendHttp } from "../http/http-sender.ts";
import { maskedBeside, type RequestKeys, requestKeys } from "../http/request-keys.ts";
import { maskedProvider } from "../secrets/masked-provider.ts";
import { checkSecrets, secretLengthMin } from "../secrets/secret-values.ts";
import { type AnswerLimits, answerLimits } from "../settings/answer-limits.ts";
import { checkedSettings, type OptionWords } from "../settings/checked-settings.ts";
import { geminiCodec } from "./gemini-codec.ts";
import {
  addressOf,
  type Credentials,
  type GeminiConnection,
  type GeminiSettings,
  geminiConnection,
  geminiWords,
  headersOf,
  scopeOf,
} from "./gemini-options.ts";
import { readGemini } from "./read-gemini.ts";

/** The address of a Google endpoint, and the owner of its credentials. */
export type GoogleEndpoint = {
  /** The function that makes the provider, for its errors. */
  readonly where: string;
  readonly name: string;
  readonly baseURL: string;
  /** The owner of the credentials, for the scope. */
  readonly owner: string;
  /** The header that carries the key. */
  readonly header: (key: string) => Readonly<Record<string, string>>;
  readonly key: string | Credentials;
  /** Options besides those of every endpoint. */
  readonly options: OptionWords["connection"];
};

/** How an endpoint of Gemini models differs from the others. */
export type GeminiEndpoint = GoogleEndpoint & {
  /** The part of the address after the base. */
  readonly path: (asked: { readonly model: string; readonly method: string }) => string;
  readonly wrap?: Wrap | undefined;
  readonly unwrap?: ((answer: JsonObject) => JsonObject) | undefined;
};

/** The requests and answers of an endpoint. */
export type GoogleWire = Pick<Provider, "codec" | "capabilities" | "settings"> & {
  /** The part of the address after the base, with its query. */
  readonly path: (asked: { readonly model: string; readonly transport: string }) => string;
  /** The text that is sent for a body. */
  readonly wrap: (bodyText: string, model: string) => string;
  readonly read: (
    answer: Response,
    reading: { readonly limits: AnswerLimits; readonly deadline: Deadline } & Pick<InferenceRequest, "onDelta">,
  ) => Promise<JsonObject>;
};

/** Puts the request body into the outer object that an endpoint expects; the result must contain the given object unchanged. */
export type Wrap = (body: JsonObject, asked: { readonly model: string }) => JsonObject;

/** A provider for an endpoint of generateContent. */
export function geminiProvider(options: GeminiSettings & GeminiConnection, endpoint: GeminiEndpoint): Provider {
  const { where, unwrap = (answer: JsonObject): JsonObject => answer } = endpoint;
  return googleProvider(options, endpoint, {
    ...{ codec: geminiCodec, capabilities: {} },
    settings: checkedSettings(options, {
      ...geminiWords,
      ...{ provider: where, connection: { ...geminiConnection, ...endpoint.options } },
    }),
    path: ({ model, transport }) =>
      transport === "sse"
        ? `${endpoint.path({ model, method: "streamGenerateContent" })}?alt=sse`
        : endpoint.path({ model, method: "generateContent" }),
    wrap: (bodyText, model) => wrapped(bodyText, endpoint, model),
    read: (answer, reading) => readGemini(answer, { ...reading, unwrap }),
  });
}

/** A provider for a Google endpoint. */
export function googleProvider(options: GeminiConnection, endpoint: GoogleEndpoint, wire: GoogleWire): Provider {
  const { where, name, key } = endpoint;
  const { codec, settings, capabilities } = wire;
  const { secrets = {}, timeoutMs = 600_000, transport = "sse" } = options;
  checkSecrets(settings, secrets);
  const address = addressOf(where, endpoint.baseURL);
  const limits = answerLimits(options.limits);
  const { headers, masked } = headersOf(options);
  const keys = typeof key === "function" ? requestKeys(key) : null;
  const sender = { endpoint, wire, keys, limits, address, headers, fetch: options.fetch };

  async function infer(request: InferenceRequest): Promise<InferenceResponse> {
    const { onDelta, signal } = request;
    using deadline = createDeadline(signal, timeoutMs);
    const answer = await send(request, deadline, sender);
    const response = await wire.read(answer, { limits, deadline, onDelta });
    return { response, requestId: requestIdOf(answer.headers) };
  }

  const provider: Provider = {
    ...{ name, codec, settings, capabilities, transport, timeoutMs, infer },
    scope: scopeOf(address, codec.family, endpoint.owner),
    // Google's APIs have no system messages within the conversation.
    systemAs: "instructions",
  };
  const isSecret = typeof key === "string" && key.length >= secretLengthMin;
  const lasting = isSecret ? [...masked, { name: "apiKey", value: key }] : masked;
  return maskedProvider(provider, maskedBeside(keys, lasting), () => secrets);
}

type Sender = {
  readonly endpoint: GoogleEndpoint;
  readonly wire: GoogleWire;
  readonly keys: RequestKeys | null;
  readonly limits: AnswerLimits;
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof globalThis.fetch | undefined;
};

/** If the server rejects a token, asks the source for another one and retries: a rejected request had no effect. */
async function send(
  { bodyText, settings, transport }: InferenceRequest,
  deadline: Deadline,
  { endpoint, wire, keys, limits, address, headers, fetch }: Sender,
): Promise<Response> {
  const model = textOrEmpty(settings["model"]);
  const attempt = async (key: string): Promise<Response> =>
    sendHttp(`${address}${wire.path({ model, transport })}`, {
      ...{ method: "POST", bodyText: wire.wrap(bodyText, model) },
      accept: transport === "sse" ? "text/event-stream" : "application/json",
      headers: { ...endpoint.header(key), ...headers },
      // Looked up at each request, so that a replaced global is used.
      ...{ deadline, limits, fetch: fetch ?? ((...given) => globalThis.fetch(...given)) },
    });
  if (keys === null) return attempt(textOrEmpty(endpoint.key));
  const first = await keys.next(deadline);
  try {
    return await attempt(first);
  } catch (error) {
    if (!(error instanceof ProviderError) || error.status !== 401) throw error;
    const second = await keys.next(deadline, { isRefused: true });
    if (second === first) throw error;
    return await attempt(second);
  }
}

/** The text that is sent contains the recorded body byte for byte; the endpoint decides what is around it. */
function wrapped(bodyText: string, { wrap, where }: GeminiEndpoint, model: string): string {
  if (wrap === undefined) return bodyText;
  const body = jsonOf(bodyText);
  if (!isJsonObject(body)) throw new Error("the body of a request is not a JSON object");
  const mark = `turnlog:${bodyText.length}`;
  let found = 0;
  const text = JSON.stringify(wrap(body, { model }), (_, value: unknown) => {
    if (value !== body) return value;
    found += 1;
    return mark;
  });
  const place = text.indexOf(JSON.stringify(mark));
  if (found === 1) return text.slice(0, place) + bodyText + text.slice(place + JSON.stringify(mark).length);
  throw new ProviderError(
    `${where}: wrap must return an object that contains the given object once, unchanged; nothing was sent`,
    { kind: "invalid-request", outcome: "rejected" },
  );
}
