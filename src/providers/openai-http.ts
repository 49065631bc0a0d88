import type { OpenAI } from "openai";
import type { JsonValue } from "../base/json.ts";
import type { AnswerLimits } from "./answer-limits.ts";
import { abortedBeforeSending } from "./deadline.ts";
import { Exchange, type HttpRequest } from "./http-exchange.ts";
import { jsonOf } from "./json-text.ts";
import type { RequestKeys } from "./request-keys.ts";

/** Where requests go, and as whom. */
export type Endpoint = {
  readonly apiKey: string;
  /** Where each request has a key of its own; `apiKey` is none then. */
  readonly keys: RequestKeys | null;
  readonly baseURL: string;
  readonly organization: string | null;
  readonly project: string | null;
  /** Null takes away what the client would send by itself. */
  readonly headers: Readonly<Record<string, string | null>>;
  readonly timeoutMs: number;
  readonly limits: AnswerLimits;
  readonly fetch: typeof globalThis.fetch;
};

export type ServerEvent = { readonly event: string | null; readonly data: JsonValue };

export type HttpClient = {
  /**
   * Sends a request; the answer comes back unread.
   *
   * @throws {ProviderError} for every status but 2xx, and when nothing answered. Redirects are not followed.
   */
  send(request: HttpRequest): Promise<Response>;
  /**
   * The events of a stream, errors among them. Aborting the controller ends them.
   *
   * @throws {SyntaxError} for one that is no JSON.
   */
  events(answer: Response, controller: AbortController): AsyncIterable<ServerEvent>;
};

/**
 * The official client, which knows addresses, credentials, headers and event streams. Its retries are off, and it is
 * loaded with the first request.
 */
export function createHttpClient(endpoint: Endpoint): HttpClient {
  let loading: Promise<OpenAI> | undefined;
  const load = (): Promise<OpenAI> => (loading ??= createClient(endpoint));

  async function send(request: HttpRequest): Promise<Response> {
    const { caller, signal } = request.deadline;
    if (caller.aborted) throw abortedBeforeSending(caller);
    const client = await load();
    const key = await endpoint.keys?.next(request.deadline);
    const exchange = new Exchange(request, endpoint);
    try {
      return await client
        .withOptions({ fetch: exchange.fetch })
        .request({
          method: request.method,
          path: request.path,
          body: request.bodyText,
          // The client sends a text as it stands when its type is given.
          headers: {
            Accept: request.accept,
            ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
            ...(request.bodyText === undefined ? {} : { "Content-Type": "application/json" }),
          },
          signal,
        })
        .asResponse();
    } catch (cause) {
      throw exchange.failure(cause);
    }
  }

  return { send, events };
}

/** The framing is the client's; its JSON.parse would round numbers. */
export async function* events(answer: Response, controller: AbortController): AsyncIterable<ServerEvent> {
  const { _iterSSEMessages: messages } = await import("openai/core/streaming");
  for await (const { event, data } of messages(answer, controller)) {
    if (data === "[DONE]") return;
    const value = jsonOf(data);
    if (value === undefined) throw new SyntaxError("an event of the stream is no JSON");
    yield { event, data: value };
  }
}

/** The client is not part of a program's start: it takes longer to load than all the rest. */
async function createClient({ apiKey, baseURL, organization, project, headers, timeoutMs }: Endpoint): Promise<OpenAI> {
  const { OpenAI } = await import("openai");
  const credentials = { apiKey, baseURL, organization, project };
  return new OpenAI({ ...credentials, defaultHeaders: headers, timeout: timeoutMs, maxRetries: 0, logLevel: "off" });
}
