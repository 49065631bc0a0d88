import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { message } from "../../../packages/reference-server/src/server.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponses } from "../../../src/providers/responses/responses-options.ts";
import { isLong } from "../../support/cases.ts";
import { startServer } from "../../support/providers/over-socket.ts";

/** What a conversation asks by itself, without an engine: 2,000 runs are no test of sockets. */
function asking(provider: OpenaiResponses) {
  const settings = { model: "m", store: false };
  return async (conversation: string, text: string) => {
    const { lives = null, details = {} } = provider.connection?.(conversation, { lanes: true }) ?? {};
    const body = { type: "response.create", ...details, ...settings, input: [{ role: "user", content: text }] };
    const { response } = await provider.infer({
      ...{ bodyText: JSON.stringify(body), settings, transport: "websocket", onDelta: () => undefined },
      connection: { conversation, lives, details },
      signal: AbortSignal.timeout(60_000),
    });
    return response["status"];
  };
}

const many = isLong ? 2_000 : 600;

test(`${many} conversations at once have their answers, and 32 connections at most`, async () => {
  let open = 0;
  const server = await startServer({
    async answer() {
      open = Math.max(open, server.sockets.open);
      await sleep(1);
      return { output: [message("done")] };
    },
  });
  const provider = openaiResponses({ model: "m", apiKey: "key", baseURL: server.baseUrl, transport: "websocket" });
  const ask = asking(provider);
  const names = Array.from({ length: many }, (_, n) => `conversation-cnv_${n}`);
  for (const text of ["one", "two"]) {
    const statuses = await Promise.all(names.map((name) => ask(name, text)));
    expect(statuses.every((status) => status === "completed")).toBe(true);
  }
  expect(server.requests.filter(({ status }) => status === 200)).toHaveLength(2 * many);
  expect(open).toBeLessThanOrEqual(32);
  await provider[Symbol.asyncDispose]?.();
});

test("a conversation that finds all lanes taken has a connection at once, while answers are under way on every other", async () => {
  const held = Promise.withResolvers<null>();
  const server = await startServer({
    async answer({ body }) {
      if (JSON.stringify(body).includes("wait")) await held.promise;
      return { output: [message("done")] };
    },
  });
  const provider = openaiResponses({ model: "m", apiKey: "key", baseURL: server.baseUrl, transport: "websocket" });
  const ask = asking(provider);
  const names = Array.from({ length: 512 }, (_, n) => `conversation-cnv_${n}`);
  await Promise.all(names.map((name) => ask(name, "one")));
  expect(server.sockets.open).toBe(16);
  // An answer is under way on each connection, for as long as the test wants.
  const held16 = names.slice(0, 512).map((name) => provider.connection?.(name, { lanes: true }).lives?.["socket"]);
  const oneEach = [...new Set(held16)].map((socket) => names[held16.indexOf(socket)] ?? "");
  expect(oneEach).toHaveLength(16);
  const waiting = oneEach.map((name) => ask(name, "wait"));
  await expect.poll(() => server.requests.length).toBe(512 + 16);
  expect(await ask("conversation-cnv_late", "now")).toBe("completed");
  // The connection that was left for it goes on answering.
  expect(server.sockets.open).toBe(17);
  held.resolve(null);
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(["completed"]));
  await expect.poll(() => server.sockets.open).toBe(16);
  await provider[Symbol.asyncDispose]?.();
});

test("a lane that was kept for a request which was given up is free again", async () => {
  const held = Promise.withResolvers<null>();
  const server = await startServer({
    async answer() {
      await held.promise;
      return { output: [message("done")] };
    },
  });
  const provider = openaiResponses({ model: "m", apiKey: "key", baseURL: server.baseUrl, transport: "websocket" });
  const settings = { model: "m", store: false };
  const given = new AbortController();
  const request = (n: number, signal: AbortSignal) => {
    const conversation = `conversation-cnv_${n}`;
    const { details = {} } = provider.connection?.(conversation, { lanes: true }) ?? {};
    const body = { type: "response.create", ...details, ...settings, input: [{ role: "user", content: "one" }] };
    return provider.infer({
      ...{ bodyText: JSON.stringify(body), settings, transport: "websocket", onDelta: () => undefined, signal },
      connection: { conversation, lives: null, details },
    });
  };
  const never = new AbortController().signal;
  const first = request(0, never);
  await expect.poll(() => server.requests.length).toBe(1);
  const abandoned = Array.from({ length: 40 }, (_, n) => request(n + 1, given.signal));
  given.abort(new Error("enough"));
  for (const each of await Promise.allSettled(abandoned)) expect(each.status).toBe("rejected");
  held.resolve(null);
  await first;
  await Promise.all(Array.from({ length: 31 }, (_, n) => request(n + 100, never)));
  expect(new Set(server.requests.map(({ socket }) => socket)).size).toBe(1);
  await provider[Symbol.asyncDispose]?.();
});
