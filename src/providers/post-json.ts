import { isJsonObject } from "../base/json.ts";
import { checkFunction, checkOptions, type OptionNames } from "../base/options.ts";
import { type InferenceRequest, type InferenceResponse, ProviderError } from "../engine/stack/provider.ts";
import type { StreamedAnswer } from "./answer-form.ts";
import { type AnswerLimits, answerLimits } from "./answer-limits.ts";
import { requestIdOf } from "./classify-error.ts";
import { createDeadline, type Deadline, interruption } from "./deadline.ts";
import { sendHttp } from "./http-sender.ts";
import { jsonOf } from "./json-text.ts";
import { MeteredBody } from "./metered-body.ts";
import { isEventStream } from "./read-answer.ts";
import { readStreamed } from "./read-streamed.ts";

export type PostJsonOptions = {
  /** Credentials and the like; the content type is set. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the whole answer; ten minutes when absent. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof globalThis.fetch;
  /** How much of an answer is taken in, and how long it may pause. */
  readonly limits?: Partial<AnswerLimits>;
};

/**
 * Posts the body of a request as it stands, and gives the JSON object that comes back: the transport of an endpoint that does not
 * stream. Redirects are not followed, and nothing is sent again: the engine decides that by what is thrown.
 *
 * @throws {ProviderError} for every status but 2xx, an answer that is no JSON object or goes past a limit, a connection that fails or
 * breaks, an abort, and when the time is up; its `outcome` says whether the server may have acted.
 */
export async function postJson(
  url: string,
  { bodyText, signal }: Pick<InferenceRequest, "bodyText" | "signal">,
  { headers = {}, timeoutMs = 600_000, fetch = globalThis.fetch, limits: given }: PostJsonOptions = {},
): Promise<InferenceResponse> {
  using deadline = createDeadline(signal, timeoutMs);
  const limits = answerLimits(given);
  const sent = { method: "POST", bodyText, accept: "application/json", deadline } as const;
  const answer = await sendHttp(url, { ...sent, headers, fetch, limits });
  const { status, headers: told } = answer;
  const body = new MeteredBody(answer.body, limits);
  const text = await textOf(body, deadline);
  const response = jsonOf(text);
  if (isJsonObject(response)) return { response, requestId: requestIdOf(told) };
  const isStreamed = isEventStream(text.trimStart()) ? "; it streams: read it with postStream" : "";
  const what = text.trim() === "" ? "an empty body" : `what is no JSON object: ${text.slice(0, 200)}${isStreamed}`;
  throw new ProviderError(`the provider answered with ${what}`, {
    ...{ kind: "server-error", outcome: "unknown", status, body: text },
  });
}

export type PostStreamOptions = PostJsonOptions & {
  /** Puts the parts of this answer together: a new one for each request. */
  readonly stream: StreamedAnswer;
};

/**
 * Posts the body of a request as it stands, and gives the answer that `stream` makes of the lines (NDJSON) or events (`text/event-stream`)
 * that come back: the transport of an endpoint that streams. It does what `postJson` does, and what had come of an answer that breaks off
 * goes along as `partial`.
 *
 * @throws {ProviderError} as `postJson`; for a stream that ends before its last part, or goes past a limit.
 * @throws what `stream` throws.
 */
export async function postStream(
  url: string,
  { bodyText, signal }: Pick<InferenceRequest, "bodyText" | "signal">,
  options: PostStreamOptions,
): Promise<InferenceResponse> {
  checkOptions("postStream", options, optionNames);
  const { stream, headers = {}, timeoutMs = 600_000, fetch = globalThis.fetch, limits: given } = options;
  checkFunction("postStream: stream.take", Reflect.get(Object(stream), "take"));
  using deadline = createDeadline(signal, timeoutMs);
  const limits = answerLimits(given);
  const accept = "text/event-stream, application/x-ndjson, application/json";
  const answer = await sendHttp(url, { method: "POST", bodyText, accept, deadline, headers, fetch, limits });
  const response = await readStreamed(answer, { limits, deadline, stream });
  return { response, requestId: requestIdOf(answer.headers) };
}

const optionNames: OptionNames<PostStreamOptions> = {
  ...{ stream: true, headers: true, timeoutMs: true, fetch: true, limits: true },
};

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
