import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { providerError } from "../failures/classify-error.ts";
import { createDeadline } from "../http/deadline.ts";
import { addressAt, type Endpoint, headersAt } from "../http/endpoint.ts";

/** An open WebSocket, and its TCP socket. */
export type OpenSocket = { readonly webSocket: WebSocket; readonly socket: Socket };

/**
 * Opens a WebSocket at the endpoint's `/responses`, with the credentials of its HTTP requests. Compression is off. It never reconnects,
 * because the server may have acted on what was sent.
 *
 * @throws {ProviderError} of outcome `rejected`, since no request was sent; `transport-unavailable` if the server says that it has no
 * WebSockets.
 */
export async function openSocket(endpoint: Endpoint): Promise<OpenSocket> {
  const { WebSocket } = await import("ws");
  const { limits } = endpoint;
  const handshakeTimeout = Math.min(endpoint.timeoutMs, maxHandshakeMs);
  using deadline = createDeadline(new AbortController().signal, handshakeTimeout);
  const key = (await endpoint.keys?.next(deadline)) ?? endpoint.apiKey;
  const webSocket = new WebSocket(addressOf(endpoint), {
    headers: headersAt(endpoint, key),
    maxPayload: limits.bodyBytes,
    perMessageDeflate: false,
    handshakeTimeout,
  });
  const opened = Promise.withResolvers<OpenSocket>();
  const fail = (error: ProviderError): void => {
    opened.reject(error);
    webSocket.terminate();
  };
  let socket: Socket | undefined;
  webSocket.once("upgrade", (answer) => {
    ({ socket } = answer);
  });
  webSocket.once("open", () => {
    if (socket !== undefined) opened.resolve({ webSocket, socket });
  });
  webSocket.on("error", (cause) => {
    const { message, kind, status } = providerError({ cause });
    fail(
      new ProviderError(message, {
        kind: kind === "aborted" ? "connection" : kind,
        outcome: "rejected",
        status,
        cause,
      }),
    );
  });
  webSocket.once("unexpected-response", (_, answer) => {
    void refused(answer, limits.errorBytes).then(fail);
  });
  return await opened.promise;
}

const maxHandshakeMs = 30_000;

function addressOf(endpoint: Endpoint): URL {
  const url = new URL(addressAt(endpoint, "/responses"));
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url;
}

/** The error of a rejected handshake, classified like an HTTP error of a request that was not sent. */
async function refused(answer: IncomingMessage, maxBytes: number): Promise<ProviderError> {
  const { statusCode: status = 0, headers: given } = answer;
  const headers = new Headers(
    Object.entries(given).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
  const body = await textOf(answer, maxBytes).catch(() => "");
  const { message, kind, ...told } = providerError({ status, headers, body });
  const { providerCode, param, retryAfterMs, shouldRetry, requestId } = told;
  const said = {
    providerCode,
    param,
    retryAfterMs,
    shouldRetry,
    requestId,
    status,
    body,
    outcome: "rejected",
  } as const;
  if (kind === "rate-limited" || kind === "authentication") return new ProviderError(message, { ...said, kind });
  // A server error may pass; missing WebSocket support is permanent.
  if (status >= 500 && status !== 501) return new ProviderError(message, { ...said, kind: "connection" });
  const text = `the endpoint did not open a WebSocket: HTTP ${status}: ${message}`;
  return new ProviderError(text, { ...said, kind: "transport-unavailable" });
}

async function textOf(answer: IncomingMessage, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of answer) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.byteLength;
    text += decoder.decode(chunk, { stream: true });
    if (bytes >= maxBytes) break;
  }
  return text;
}
