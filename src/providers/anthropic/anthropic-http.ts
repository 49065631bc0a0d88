import type { Anthropic } from "@anthropic-ai/sdk";
import { abortedBeforeSending } from "../deadline.ts";
import { Exchange, type HttpRequest } from "../http-exchange.ts";
import { jsonOf } from "../json-text.ts";
import type { Endpoint, HttpClient } from "../openai-http.ts";
import { ProviderSettingsError } from "../settings-error.ts";
import { messagesError } from "./errors.ts";

/** Where requests go, and as whom. */
export type MessagesEndpoint = Endpoint & { readonly version: string; readonly betas: readonly string[] };

/** The official client, whose retries are off: what may have been acted on is repeated by nobody but the engine. */
export function createMessagesClient(endpoint: MessagesEndpoint): HttpClient {
  let loading: Promise<Anthropic> | undefined;
  const load = (): Promise<Anthropic> => (loading ??= createClient(endpoint));
  return {
    async send(request: HttpRequest): Promise<Response> {
      const { caller, signal } = request.deadline;
      if (caller.aborted) throw abortedBeforeSending(caller);
      const client = await load();
      const key = await endpoint.keys?.next(request.deadline);
      const exchange = new Exchange(request, { ...endpoint, errorOf: messagesError });
      try {
        return await client
          .withOptions({ fetch: exchange.fetch })
          .post(request.path, {
            body: request.bodyText,
            // The client sends a text as it stands when its type is given.
            headers: {
              accept: request.accept,
              "content-type": "application/json",
              ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
            },
            signal,
          })
          .asResponse();
      } catch (cause) {
        throw exchange.failure(cause);
      }
    },
    /** The framing is the client's; its JSON.parse would round numbers, and it would end quietly where a stream is cut. */
    async *events(answer, controller) {
      const { _iterSSEMessages: messages } = await sdk("core/streaming");
      for await (const { event, data } of messages(answer, controller)) {
        const value = jsonOf(data);
        if (value === undefined) throw new SyntaxError("an event of the stream is no JSON");
        yield { event, data: value };
      }
    },
  };
}

async function createClient({ apiKey, baseURL, version, betas, headers, timeoutMs }: MessagesEndpoint) {
  const { Anthropic } = await sdk("client");
  const defaultHeaders = {
    "anthropic-version": version,
    ...(betas.length === 0 ? {} : { "anthropic-beta": betas.join(",") }),
    ...headers,
  };
  return new Anthropic({ apiKey, baseURL, defaultHeaders, timeout: timeoutMs, maxRetries: 0, logLevel: "off" });
}

type Modules = {
  readonly client: typeof import("@anthropic-ai/sdk");
  readonly "core/streaming": typeof import("@anthropic-ai/sdk/core/streaming");
};

/**
 * A part of the client, which is an optional peer and no part of a program's start.
 *
 * @throws {ProviderSettingsError} where it is not installed.
 */
async function sdk<Name extends keyof Modules>(name: Name): Promise<Modules[Name]>;
async function sdk(name: keyof Modules): Promise<unknown> {
  try {
    return name === "client" ? await import("@anthropic-ai/sdk") : await import("@anthropic-ai/sdk/core/streaming");
  } catch (cause) {
    const text = "turnlog/anthropic needs the official client: npm install @anthropic-ai/sdk";
    throw new ProviderSettingsError(text, { cause });
  }
}
