import { type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { addressOf } from "./arriving.ts";
import { checkAzureKey, checkAzureVersion, pathOf } from "./azure.ts";
import { type Refusal, refusal, upgradeRefused } from "./refusals.ts";
import type { Parts } from "./routes.ts";
import { SocketConnection } from "./socket-connection.ts";

/** The WebSockets of a server, for tests. */
export interface ServerSockets {
  /** Destroys every connection, like a network failure. */
  cut(): void;
  /** Rejects the next upgrades with these statuses, one each. */
  refuse(...statuses: readonly number[]): void;
  /** How many connections are open. */
  readonly open: number;
}

interface Sockets extends ServerSockets {
  end(): void;
}

/** Serves WebSockets at `/v1/responses`. */
export function serveSockets(http: Server, parts: Parts): Sockets {
  const { options } = parts;
  const server = new WebSocketServer({ noServer: true, maxPayload: options.maxBodyBytes ?? 512 * 2 ** 20 });
  const refused: number[] = [];
  let count = 0;
  http.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // The client may already be gone.
    socket.on("error", () => undefined);
    const status = refused.shift() ?? options.webSocket?.refused;
    const { azure } = options;
    const url = addressOf(request.url ?? "");
    const isKnown = url !== null && pathOf(azure, url) === "/v1/responses";
    const denied =
      azure === undefined || url === null
        ? undefined
        : (checkAzureKey(azure, request.headers) ?? checkAzureVersion(url));
    const refusing = isKnown ? (denied ?? (status === undefined ? null : upgradeRefused(status))) : noRoute(request);
    if (refusing !== null) {
      socket.end(httpText(refusing));
      return;
    }
    server.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = new SocketConnection(parts, { request, webSocket, number: count });
      count += 1;
      connection.serve();
    });
  });
  return {
    cut() {
      for (const webSocket of server.clients) webSocket.terminate();
    },
    refuse: (...statuses) => void refused.push(...statuses),
    get open() {
      return server.clients.size;
    },
    end() {
      for (const webSocket of server.clients) webSocket.terminate();
      server.close();
    },
  };
}

const noRoute = ({ url }: IncomingMessage): Refusal => refusal(`Invalid URL (GET ${url ?? ""})`, { status: 404 });

function httpText({ status, body }: Refusal): string {
  const text = JSON.stringify(body);
  const headers = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Refused"}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(text)}`,
    ...(status === 426 ? ["upgrade: HTTP/1.1"] : []),
    "connection: close",
  ];
  return `${headers.join("\r\n")}\r\n\r\n${text}`;
}
