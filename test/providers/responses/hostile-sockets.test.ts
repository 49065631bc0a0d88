import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { messageOf } from "../../../src/base/error-message.ts";
import { isJsonObject, type JsonObject, jsonOf } from "../../../src/base/json.ts";
import type { InferenceResponse } from "../../../src/engine/ports/provider.ts";
import type { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { openaiResponses, responsesProvider } from "../../../src/providers/responses/openai-responses.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

type Hostile = {
  readonly baseURL: string;
  /** How many connections were opened. */
  readonly opened: () => number;
};

/** A server of the protocol that does what a test says; over HTTP it answers as it should. */
async function hostile(serve: (webSocket: WebSocket, number: number) => void): Promise<Hostile> {
  const http = createServer((request, answer) => {
    request.resume().once("end", () => {
      answer.setHeader("content-type", "application/json");
      answer.end(JSON.stringify(response("resp_over_http")));
    });
  });
  const server = new WebSocketServer({ server: http });
  let count = 0;
  server.on("connection", (webSocket) => {
    count += 1;
    webSocket.on("error", () => undefined);
    serve(webSocket, count);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(async () => {
    for (const client of server.clients) client.terminate();
    server.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  // A listening server has an address with a port.
  const { port } = http.address() as AddressInfo;
  return { baseURL: `http://127.0.0.1:${port}/v1`, opened: () => count };
}

const response = (id: string, text = "done"): JsonObject => ({
  ...{ id, object: "response", status: "completed", model: "m", previous_response_id: null, store: true },
  output: [
    {
      type: "message",
      id: `msg_${id}`,
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text, annotations: [] }],
    },
  ],
});

/** The events of an answer, as frames of a lane. */
const framesOf = (id: string, lane: JsonObject, text?: string): readonly JsonObject[] => [
  {
    type: "response.created",
    sequence_number: 0,
    ...lane,
    response: { ...response(id), status: "in_progress", output: [] },
  },
  { type: "response.completed", sequence_number: 1, ...lane, response: response(id, text) },
];

const send = (webSocket: WebSocket, ...frames: readonly JsonObject[]): void => {
  for (const frame of frames) webSocket.send(JSON.stringify(frame));
};

/** Calls with the lane of each request, and its number on the connection. */
function onRequest(webSocket: WebSocket, answer: (lane: JsonObject, number: number) => void): void {
  let number = 0;
  webSocket.on("message", (data) => {
    const body = jsonOf(Buffer.isBuffer(data) ? data.toString("utf8") : "");
    const name = isJsonObject(body) ? body["stream_id"] : undefined;
    number += 1;
    answer(typeof name === "string" ? { stream_id: name } : {}, number);
  });
}

function providerOn({ baseURL }: Hostile) {
  const provider = openaiResponses({ model: "m", apiKey: "key", baseURL, transport: "websocket" });
  onTestFinished(async () => provider[Symbol.asyncDispose]?.());
  return provider;
}

/** One request of a conversation, as the engine makes it. */
function ask(provider: ReturnType<typeof providerOn>, conversation = "conversation-c"): Promise<InferenceResponse> {
  const connection = {
    conversation,
    ...(provider.connection?.(conversation, provider.capabilities) ?? { lives: null }),
  };
  const { details = {} } = connection;
  return provider.infer({
    bodyText: JSON.stringify({ type: "response.create", ...details, model: "m", input: "go" }),
    ...{ settings: { model: "m" }, transport: "websocket", connection },
    signal: new AbortController().signal,
    onDelta: () => undefined,
  });
}

/** It is unknown whether the server has acted, and a person can read what it did. */
function expectUnknown(failure: unknown, words: RegExp): void {
  expect(failure).toMatchObject({ kind: "stream-cut", outcome: "unknown" });
  expect(messageOf(failure)).toMatch(words);
}

const idOf = ({ response: { id } }: InferenceResponse): unknown => id;

describe("an answer without a waiting caller", () => {
  test("is not taken for the next one, though it comes again", async () => {
    const server = await hostile((webSocket, connection) =>
      onRequest(webSocket, (lane, number) => {
        send(webSocket, ...framesOf(connection === 1 ? "resp_1" : "resp_2", lane));
        // As a proxy does that repeats what it has sent.
        if (number === 2) send(webSocket, ...framesOf("resp_3", lane));
      }),
    );
    const provider = providerOn(server);
    expect(idOf(await ask(provider))).toBe("resp_1");
    const failure = await rejectionOf(ask(provider));
    expectUnknown(failure, /resp_1 has already arrived/);
    expect(idOf(await ask(provider))).toBe("resp_2");
    expect(server.opened()).toBe(2);
  });

  test("is not mixed with the next one, where an error came in its middle", async () => {
    const server = await hostile((webSocket, connection) =>
      onRequest(webSocket, (lane) => {
        const id = `resp_${connection}`;
        const [created, completed] = framesOf(id, lane);
        const error = { type: "error", ...lane, error: { code: "server_error", message: "no" } };
        send(webSocket, created ?? {}, ...(connection === 1 ? [error] : []), completed ?? {});
      }),
    );
    const provider = providerOn(server);
    expect(await rejectionOf(ask(provider))).toMatchObject({ kind: "server-error", outcome: "unknown" });
    expect(idOf(await ask(provider))).toBe("resp_2");
    expect(server.opened()).toBe(2);
  });

  test("ends as another response than it began as, so its content is unknown", async () => {
    const server = await hostile((webSocket) =>
      onRequest(webSocket, (lane) => {
        const [created] = framesOf("resp_mine", lane);
        const [, completed] = framesOf("resp_of_somebody_else", lane);
        send(webSocket, created ?? {}, completed ?? {});
      }),
    );
    expectUnknown(await rejectionOf(ask(providerOn(server))), /resp_of_somebody_else.*resp_mine/);
  });
});

test("a frame of an unknown lane violates the protocol", async () => {
  const server = await hostile((webSocket) =>
    onRequest(webSocket, () => send(webSocket, ...framesOf("resp_1", { stream_id: "another" }))),
  );
  expect(await rejectionOf(ask(providerOn(server)))).toMatchObject({ kind: "stream-cut", outcome: "unknown" });
});

test("two answers at once without lanes cannot be distinguished: both have an unknown outcome", async () => {
  const server = await hostile((webSocket) =>
    onRequest(webSocket, (lane, number) => {
      if (number === 1) send(webSocket, ...framesOf("resp_1", lane));
      if (number === 3) send(webSocket, ...framesOf("resp_2", {}), ...framesOf("resp_3", {}));
    }),
  );
  const provider = providerOn(server);
  await ask(provider, "conversation-a");
  const failures = await Promise.all(
    ["conversation-a", "conversation-b"].map((name) => rejectionOf(ask(provider, name))),
  );
  for (const failure of failures) expect(failure).toMatchObject({ kind: "stream-cut", outcome: "unknown" });
});

test("a server says why it closes, and the failure says so", async () => {
  const server = await hostile((webSocket) => onRequest(webSocket, () => webSocket.close(1013, "try again later")));
  expectUnknown(await rejectionOf(ask(providerOn(server))), /1013, try again later/);
});

test.each<[string, (webSocket: WebSocket) => void]>([
  ["closes every connection as it opens", (webSocket) => webSocket.close(1008, "policy")],
  ["cuts every connection as it opens", (webSocket) => webSocket.terminate()],
])("a server that %s is left after three of them, and asked over HTTP", async (_, serve) => {
  const server = await hostile(serve);
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = workshop.engine({ provider: providerOn(server) });
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    await conversation.append("go");
    await conversation.run(engine).catch(() => undefined);
  }
  expect(server.opened()).toBe(3);
  expect((await conversation.turn()).blocks.at(-1)?.text).toBe("done");
  const failures = dataOf(await eventsOf(conversation), "InferenceFailed");
  expect(failures.length).toBeLessThanOrEqual(4);
});

test("a connection that the network has let go of is found out before anything is sent on it", async () => {
  const server = await hostile((webSocket, connection) =>
    onRequest(webSocket, (lane, number) => {
      send(webSocket, ...framesOf(`resp_${connection}_${number}`, lane));
      // From now on nothing gets through, and nobody is told.
      if (connection === 1) setImmediate(() => webSocket.pause());
    }),
  );
  let now = 0;
  const settings = { model: "m", apiKey: "key", baseURL: server.baseURL, transport: "websocket" } as const;
  const provider = responsesProvider(settings, {
    where: "openaiResponses",
    keyHeader: "authorization",
    timing: { now: () => now, pongMs: 50 },
  });
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = workshop.engine({ provider });
  onTestFinished(() => engine[Symbol.asyncDispose]());
  for (const text of ["one", "two", "three"]) {
    await conversation.append(text);
    await conversation.run(engine);
    now += 60_000;
  }
  const events = await eventsOf(conversation);
  const answered = dataOf(events, "ResponseReceived").map(({ responseId }) => responseId);
  expect(answered).toEqual(["resp_1_1", "resp_2_1", "resp_2_2"]);
  expect(dataOf(events, "InferenceFailed")).toMatchObject([{ kind: "connection", outcome: "rejected" }]);
  expect(server.opened()).toBe(2);
});

test("pings are answered, and change nothing", async () => {
  const pongs: string[] = [];
  const server = await hostile((webSocket) => {
    webSocket.on("pong", (data) => pongs.push(data.toString("utf8")));
    onRequest(webSocket, (lane) => {
      const [created, completed] = framesOf("resp_1", lane);
      send(webSocket, created ?? {});
      webSocket.ping("are you there?");
      webSocket.once("pong", () => send(webSocket, completed ?? {}));
    });
  });
  expect(idOf(await ask(providerOn(server)))).toBe("resp_1");
  expect(pongs).toEqual(["are you there?"]);
});

test.each<[string, (webSocket: WebSocket) => void]>([
  ["a list", (webSocket) => webSocket.send("[1]")],
  ["a number", (webSocket) => webSocket.send("1")],
  ["nothing", (webSocket) => webSocket.send("")],
  ["bytes", (webSocket) => webSocket.send(Buffer.from("{}"))],
  ["text that is no UTF-8", (webSocket) => webSocket.send(Buffer.from([0xff, 0xfe]), { binary: false })],
])("a frame that is %s breaks the connection, and the request has an unknown fate", async (_, answer) => {
  const server = await hostile((webSocket) => onRequest(webSocket, () => answer(webSocket)));
  const failure = await rejectionOf(ask(providerOn(server)));
  expect(failure).toMatchObject({ kind: "stream-cut", outcome: "unknown" } satisfies Partial<ProviderError>);
});
