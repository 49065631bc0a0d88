import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/** What a loopback server received. */
type Received = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
};

export type Loopback = AsyncDisposable & { readonly baseURL: string; readonly received: readonly Received[] };

type Answerer = (response: ServerResponse, received: Received) => void;

/** A server on a free port of this machine that answers as the test says. */
export async function serve(answer: Answerer): Promise<Loopback> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const last = { method, url, headers, body: Buffer.concat(chunks).toString("utf8") };
      received.push(last);
      answer(response, last);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return {
    baseURL: `http://127.0.0.1:${address.port}/v1`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers with one body, and the headers of a JSON answer unless told otherwise. */
export const answering =
  (body: unknown, status = 200, headers: Record<string, string> = { "content-type": "application/json" }): Answerer =>
  (response) => {
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  };

/** The text of an event stream. */
export const eventsOf = (
  ...events: readonly (Readonly<Record<string, unknown>> & { readonly type: string })[]
): string => events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

export const eventStream = { "content-type": "text/event-stream; charset=utf-8" };
