import { isJsonObject, type JsonObject, jsonOf } from "../../base/json.ts";
import { allOf, anything, checkFunction, optionsOf } from "../../base/options.ts";
import type { InferenceRequest, InferenceResponse } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import type { StreamedAnswer } from "../answers/answer-form.ts";
import { requestIdOf } from "../failures/classify-error.ts";
import { filledHeaders, headerCredentials, queryCredentials } from "../secrets/credentials.ts";
import { maskedResponse, saying } from "../secrets/masked-provider.ts";
import { checkSecrets, filledRequest, maskable } from "../secrets/secret-values.ts";
import { type AnswerLimits, answerLimits } from "../settings/answer-limits.ts";
import type { HttpOptions } from "../settings/connection-options.ts";
import { createDeadline, type Deadline, interruption } from "./deadline.ts";
import { sendHttp } from "./http-sender.ts";
import { MeteredBody } from "./metered-body.ts";
import { isEventStream } from "./read-answer.ts";
import { readStreamed } from "./read-streamed.ts";

export type PostJsonOptions = {
  /**
   * Credentials and the like; the content type is set. The values of `authorization`, and of headers whose name ends in key, token, secret
   * or cookie, are masked in what the server says, as are the values in the address's query.
   */
  readonly headers?: HttpOptions["headers"];
} & HttpOptions;

/**
 * Posts a request body unchanged and returns the JSON object of the answer: the transport for an endpoint that does not stream. It follows
 * no redirects and never retries; the engine decides on a retry from the error.
 *
 * @throws {ProviderError} for every status but 2xx, an answer that is not a JSON object or exceeds a limit, a connection that fails or
 * breaks, an abort, and a timeout; its `outcome` says whether the server may have acted.
 */
export async function postJson(
  url: string,
  request: Posted,
  { timeoutMs = 600_000, fetch = globalThis.fetch, limits: given, ...options }: PostJsonOptions = {},
): Promise<InferenceResponse> {
  return posted(url, request, options, async ({ bodyText, headers }) => {
    using deadline = createDeadline(request.signal, timeoutMs);
    const limits = answerLimits(given);
    const sent = { method: "POST", bodyText, accept: "application/json", deadline } as const;
    const answer = await sendHttp(url, { ...sent, headers, fetch, limits });
    return { response: await objectIn(answer, { limits, deadline }), requestId: requestIdOf(answer.headers) };
  });
}

async function objectIn(answer: Response, { limits, deadline }: Reading): Promise<JsonObject> {
  const body = new MeteredBody(answer.body, limits);
  const text = await textOf(body, deadline);
  const response = jsonOf(text);
  if (isJsonObject(response)) return response;
  const isStreamed = isEventStream(text.trimStart()) ? "; it is a stream: read it with postStream" : "";
  const what =
    text.trim() === "" ? "an empty body" : `text that is not a JSON object: ${text.slice(0, 200)}${isStreamed}`;
  throw new ProviderError(`the provider answered with ${what}`, {
    ...{ kind: "server-error", outcome: "unknown", status: answer.status, body: text },
  });
}

type Reading = { readonly limits: AnswerLimits; readonly deadline: Deadline };

/** The parts of a request that are posted. A request of the engine has its settings, and with them the names of its secrets. */
export type Posted = Pick<InferenceRequest, "bodyText" | "signal"> &
  Partial<Pick<InferenceRequest, "settings" | "bodyWith">>;

type Filled = { readonly bodyText: string; readonly headers: Readonly<Record<string, string>> };

/** Fills in secrets, posts, and masks these and all other credentials in the result. */
function posted(
  url: string,
  request: Posted,
  { headers = {}, secrets = {} }: Pick<PostJsonOptions, "headers" | "secrets">,
  post: (filled: Filled) => Promise<InferenceResponse>,
): Promise<InferenceResponse> {
  const settings = request.settings ?? {};
  checkSecrets(settings, secrets);
  const masks = [...maskable(secrets), ...headerCredentials(headers, secrets), ...queryCredentials(url)];
  return saying(
    () => masks,
    async (mask) => {
      const { bodyText } = filledRequest(request, secrets);
      return maskedResponse(await post({ bodyText, headers: filledHeaders(headers, secrets) }), settings, mask);
    },
  );
}

export type PostStreamOptions = PostJsonOptions & {
  /** Assembles the parts of this answer; make a new one for each request. */
  readonly stream: StreamedAnswer;
};

/**
 * Posts a request body unchanged and returns the answer that `stream` assembles from the lines (NDJSON) or events (`text/event-stream`):
 * the transport for an endpoint that streams. It works like `postJson`; the error of an answer that is cut off has the items so far as
 * `partial`. The parts that `stream` passes on are masked only if the provider is `masked`.
 *
 * @throws {ProviderError} as `postJson` does, and if a stream ends before its last part or exceeds a limit.
 * @throws what `stream` throws.
 */
export async function postStream(url: string, request: Posted, options: PostStreamOptions): Promise<InferenceResponse> {
  streamOptions.check("postStream", options);
  const { stream, timeoutMs = 600_000, fetch = globalThis.fetch, limits: given } = options;
  checkFunction("postStream: stream.take", Reflect.get(Object(stream), "take"));
  return posted(url, request, options, async ({ bodyText, headers }) => {
    using deadline = createDeadline(request.signal, timeoutMs);
    const limits = answerLimits(given);
    const accept = "text/event-stream, application/x-ndjson, application/json";
    const answer = await sendHttp(url, { method: "POST", bodyText, accept, deadline, headers, fetch, limits });
    const response = await readStreamed(answer, { limits, deadline, stream });
    return { response, requestId: requestIdOf(answer.headers) };
  });
}

const streamOptions = optionsOf<PostStreamOptions>(
  allOf(anything, "stream", "headers", "secrets", "timeoutMs", "fetch", "limits"),
);

async function textOf(body: MeteredBody, deadline: Deadline): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const chunk = await body.read();
      if (chunk === null) return text + decoder.decode();
      text += decoder.decode(chunk, { stream: true });
    }
  } catch (cause) {
    if (body.failure !== null) throw body.failure;
    const message = "the answer of the provider broke off before it was complete";
    throw interruption(deadline) ?? new ProviderError(message, { kind: "stream-cut", outcome: "unknown", cause });
  }
}
