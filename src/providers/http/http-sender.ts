import { ProviderError } from "../../engine/ports/provider-error.ts";
import { type FailedAnswer, providerError } from "../failures/classify-error.ts";
import type { AnswerLimits } from "../settings/answer-limits.ts";
import { abortedBeforeSending, type Deadline, interruption } from "./deadline.ts";
import { addressAt, type Endpoint, headersAt } from "./endpoint.ts";
import { refusalOf } from "./refusal.ts";

/** One request over HTTP. */
type Sent = {
  readonly method: "POST" | "GET" | "DELETE";
  /** Sent byte for byte. */
  readonly bodyText?: string;
  readonly accept: string;
  readonly deadline: Deadline;
};

/** How the request is sent. */
type Sending = Sent & {
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof globalThis.fetch;
  readonly limits: AnswerLimits;
  /** Classifies a refusal by the codes of its server. */
  readonly errorOf?: ((answer: FailedAnswer) => ProviderError) | undefined;
};

/**
 * Sends a request of any wire and returns the answer unread. It follows no redirects and never retries: only the engine repeats a request
 * that may have been acted on.
 *
 * @throws {ProviderError} for every status but 2xx, and if no answer came.
 */
export async function sendHttp(address: string, sending: Sending): Promise<Response> {
  const { method, bodyText, deadline, fetch, limits, errorOf } = sending;
  if (deadline.caller.aborted) throw abortedBeforeSending(deadline.caller);
  const headers = headersOf(sending);
  const body = bodyText === undefined ? {} : { body: bodyText };
  let answer: Response;
  try {
    answer = await fetch(address, { method, headers, ...body, redirect: "manual", signal: deadline.signal });
  } catch (cause) {
    throw interruption(deadline) ?? providerError({ cause });
  }
  if (!answer.ok) throw await refusalOf(answer, limits, errorOf);
  return answer;
}

function headersOf({ headers: given, accept, bodyText }: Sending): Headers {
  const headers = new Headers({ accept });
  for (const [name, value] of Object.entries(given)) setHeader(headers, name, value);
  if (bodyText !== undefined) headers.set("content-type", "application/json");
  return headers;
}

/** The cause would show the value, which may be a key. */
function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    const text = `the header ${JSON.stringify(name)} cannot be sent: its name or value has characters that HTTP does not allow, such as a line break`;
    throw new ProviderError(text, { kind: "invalid-request", outcome: "rejected" });
  }
}

/** A request to one endpoint. */
type HttpRequest = Sent & {
  /** Below the base URL, with its query. */
  readonly path: string;
};

export type HttpSender = {
  /**
   * Sends a request with the endpoint's credentials and returns the answer unread.
   *
   * @throws {ProviderError} as `sendHttp` does, and if there is no key for the request.
   */
  send(request: HttpRequest): Promise<Response>;
};

/** The sender of an endpoint that serves all of a provider's requests. */
export const createSender = (endpoint: Endpoint, errorOf?: Sending["errorOf"]): HttpSender => ({
  async send({ path, ...request }) {
    const { caller } = request.deadline;
    if (caller.aborted) throw abortedBeforeSending(caller);
    const key = (await endpoint.keys?.next(request.deadline)) ?? endpoint.apiKey;
    const { fetch, limits } = endpoint;
    return sendHttp(addressAt(endpoint, path), {
      ...request,
      headers: headersAt(endpoint, key),
      fetch,
      limits,
      errorOf,
    });
  },
});
