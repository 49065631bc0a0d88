import { isJsonObject, type JsonObject, jsonOf } from "../../base/json.ts";
import { allOf, anything, checkFunction, optionsOf } from "../../base/options.ts";
import { type InferenceRequest, type InferenceResponse, ProviderError } from "../../engine/stack/provider.ts";
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
   * Credentials and the like; the content type is set. The values of `authorization`, and of others whose name ends in key, token, secret
   * or cookie, are masked in what the server says, as those in the address's query are.
   */
  readonly headers?: HttpOptions["headers"];
} & HttpOptions;

/**
 * Posts the body of a request as it stands, and gives the JSON object that comes back: the transport of an endpoint that does not
 * stream. Redirects are not followed, and nothing is sent again: the engine decides that by what is thrown.
 *
 * @throws {ProviderError} for every status but 2xx, an answer that is no JSON object or goes past a limit, a connection that fails or
 * breaks, an abort, and when the time is up; its `outcome` says whether the server may have acted.
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
  const isStreamed = isEventStream(text.trimStart()) ? "; it streams: read it with postStream" : "";
  const what = text.trim() === "" ? "an empty body" : `what is no JSON object: ${text.slice(0, 200)}${isStreamed}`;
  throw new ProviderError(`the provider answered with ${what}`, {
    ...{ kind: "server-error", outcome: "unknown", status: answer.status, body: text },
  });
}

type Reading = { readonly limits: AnswerLimits; readonly deadline: Deadline };

/** What is posted of a request. Those of the engine have its settings, and so the secrets in them. */
export type Posted = Pick<InferenceRequest, "bodyText" | "signal"> &
  Partial<Pick<InferenceRequest, "settings" | "bodyWith">>;

type Filled = { readonly bodyText: string; readonly headers: Readonly<Record<string, string>> };

/** Posts with the values of secrets, and masks them, and what else was sent as a credential, in what comes of it. */
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
  /** Puts the parts of this answer together: a new one for each request. */
  readonly stream: StreamedAnswer;
};

/**
 * Posts the body of a request as it stands, and gives the answer that `stream` makes of the lines (NDJSON) or events (`text/event-stream`)
 * that come back: the transport of an endpoint that streams. It does what `postJson` does, and what had come of an answer that breaks off
 * goes along as `partial`. The parts that `stream` tells are masked where the provider is `masked`.
 *
 * @throws {ProviderError} as `postJson`; for a stream that ends before its last part, or goes past a limit.
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
