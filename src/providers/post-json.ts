import { isJsonObject } from "../base/json.ts";
import { type InferenceRequest, type InferenceResponse, ProviderError } from "../engine/stack/provider.ts";
import { answerLimits } from "./answer-limits.ts";
import { providerError, requestIdOf } from "./classify-error.ts";
import { createDeadline, type Deadline, interruption } from "./deadline.ts";
import { jsonOf } from "./json-text.ts";
import { MeteredBody } from "./metered-body.ts";

export type PostJsonOptions = {
  /** Credentials and the like; the content type is set. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the whole answer; ten minutes when absent. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof globalThis.fetch;
};

/**
 * Posts the body of a request as it stands, and gives the JSON object that comes back: the transport of an endpoint that does not
 * stream. Redirects are not followed, and nothing is sent again: the engine decides that by what is thrown.
 *
 * @throws {ProviderError} for every status but 2xx, an answer that is no JSON object or over 64 MiB, a connection that fails or
 * breaks, an abort, and when the time is up; its `outcome` says whether the server may have acted.
 */
export async function postJson(
  url: string,
  { bodyText, signal }: Pick<InferenceRequest, "bodyText" | "signal">,
  { headers = {}, timeoutMs = 600_000, fetch = globalThis.fetch }: PostJsonOptions = {},
): Promise<InferenceResponse> {
  if (signal.aborted)
    throw new ProviderError("the request was aborted before it was sent", {
      ...{ kind: "aborted", outcome: "rejected", cause: signal.reason },
    });
  using deadline = createDeadline(signal, timeoutMs);
  const answer = await fetch(url, {
    method: "POST",
    headers: { accept: "application/json", ...headers, "content-type": "application/json" },
    body: bodyText,
    redirect: "manual",
    signal: deadline.signal,
  }).catch((cause: unknown) => {
    throw interruption(deadline) ?? providerError({ cause });
  });
  const { status, headers: told } = answer;
  const body = new MeteredBody(answer.body, answerLimits());
  if (!answer.ok) {
    const text = await body.errorText();
    throw providerError({ status, headers: told, body: jsonOf(text) ?? text });
  }
  const text = await textOf(body, deadline);
  const response = jsonOf(text);
  if (isJsonObject(response)) return { response, requestId: requestIdOf(told) };
  const what = text.trim() === "" ? "an empty body" : `what is no JSON object: ${text.slice(0, 200)}`;
  throw new ProviderError(`the provider answered with ${what}`, {
    ...{ kind: "server-error", outcome: "unknown", status, body: text },
  });
}

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
