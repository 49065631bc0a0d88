import type { OpenAI } from "openai";
import { ProviderError } from "../engine/ports/provider.ts";
import { providerError } from "./classify-error.ts";
import { type Deadline, interruption } from "./deadline.ts";

/** Where requests go, and as whom. */
export type Endpoint = {
  readonly apiKey: string;
  readonly baseURL: string;
  readonly organization: string | null;
  readonly project: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly fetch: typeof globalThis.fetch;
};

type HttpRequest = {
  readonly method: "post" | "get" | "delete";
  readonly path: string;
  /** Sent byte for byte. */
  readonly bodyText?: string;
  readonly accept: string;
  readonly deadline: Deadline;
};

export type ServerEvent = { readonly event: string | null; readonly data: unknown };

export type HttpClient = {
  /**
   * Sends a request; the answer comes back unread.
   *
   * @throws {ProviderError} for every status but 2xx, and when nothing answered.
   */
  send(request: HttpRequest): Promise<Response>;
  /** The events of a stream, errors among them, each as JSON.parse gives it. Aborting the controller ends them. */
  events(answer: Response, controller: AbortController): Promise<AsyncIterable<ServerEvent>>;
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
    const exchange = new Exchange(request, endpoint.fetch);
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
            ...(request.bodyText === undefined ? {} : { "Content-Type": "application/json" }),
          },
          signal,
        })
        .asResponse();
    } catch (cause) {
      throw exchange.failure(cause);
    }
  }

  async function events(answer: Response, controller: AbortController): Promise<AsyncIterable<ServerEvent>> {
    const { Stream } = await import("openai/core/streaming");
    return Stream.fromSSEResponse<ServerEvent>(answer, controller, await load(), true, "events");
  }

  return { send, events };
}

/** The client is not part of a program's start: it takes longer to load than all the rest. */
async function createClient({ apiKey, baseURL, organization, project, headers, timeoutMs }: Endpoint): Promise<OpenAI> {
  const { OpenAI } = await import("openai");
  const credentials = { apiKey, baseURL, organization, project };
  return new OpenAI({ ...credentials, defaultHeaders: headers, timeout: timeoutMs, maxRetries: 0, logLevel: "off" });
}

/** One request on its way: what may leave, and what came back. */
class Exchange {
  readonly #request: HttpRequest;
  readonly #fetch: typeof globalThis.fetch;
  #refusal: ProviderError | undefined;

  constructor(request: HttpRequest, fetch: typeof globalThis.fetch) {
    this.#request = request;
    this.#fetch = fetch;
  }

  readonly fetch: typeof globalThis.fetch = async (address, init) => {
    if ((init?.body ?? undefined) !== this.#request.bodyText) {
      const text = "the client changed the body of a request: nothing was sent";
      this.#refusal = new ProviderError(text, { kind: "invalid-request", outcome: "rejected" });
      throw this.#refusal;
    }
    const signals = [this.#request.deadline.signal, ...(init?.signal ? [init.signal] : [])];
    const answer = await this.#fetch(address, { ...init, signal: AbortSignal.any(signals) });
    if (answer.ok) return answer;
    // The client keeps of an error body what it understands; the whole is kept here.
    const { status, headers } = answer;
    const body = await answer.text().catch(() => "");
    this.#refusal = providerError({ status, headers, body });
    return new Response(null, { status: 400 });
  };

  failure(cause: unknown): ProviderError {
    return this.#refusal ?? interruption(this.#request.deadline) ?? providerError({ cause });
  }
}

function abortedBeforeSending(signal: AbortSignal): ProviderError {
  const text = "the request was aborted before it was sent";
  return new ProviderError(text, { kind: "aborted", outcome: "rejected", cause: signal.reason });
}
