import { describe, expect, onTestFinished, test } from "vitest";
import { message, type ReferenceServerOptions } from "../../../packages/reference-server/src/server.ts";
import { responsesProvider } from "../../../src/providers/responses/openai-responses.ts";
import { engineOn, expectSound, say, shapesOf, startServer } from "../../support/providers/over-socket.ts";
import { createWorkshop } from "../../support/workshop.ts";

test("a connection that the server ends for its age is replaced silently", async () => {
  let now = 0;
  const server = await startServer({ now: () => now });
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const engine = engineOn(server, workshop);
  await say(conversation, engine, "one");
  now = 60 * 60_000;
  await say(conversation, engine, "two");
  expect(await shapesOf(conversation)).toEqual([
    "websocket full first-request",
    "websocket chained",
    "websocket full connection-closed",
  ]);
  expect(server.requests.map(({ socket, status }) => [socket, status])).toEqual([
    [0, 200],
    [0, 400],
    [1, 200],
  ]);
});

describe("a connection that grows old", () => {
  const minute = 60_000;

  /** Server and provider on one clock. */
  async function startAt(clock: { now: number }, options: ReferenceServerOptions = {}) {
    const server = await startServer({ now: () => clock.now, ...options });
    const workshop = createWorkshop();
    const settings = {
      model: "m",
      apiKey: "key",
      baseURL: server.baseUrl,
      store: false,
      transport: "websocket",
    } as const;
    const provider = responsesProvider(settings, {
      where: "openaiResponses",
      keyHeader: "authorization",
      timing: { now: () => clock.now },
    });
    const engine = workshop.engine({ provider });
    onTestFinished(() => engine[Symbol.asyncDispose]());
    return { server, workshop, engine };
  }

  test("is left between two requests before the server ends it, and planned around", async () => {
    const clock = { now: 0 };
    const { server, workshop, engine } = await startAt(clock);
    const { conversation } = workshop;
    await say(conversation, engine, "one");
    // An answer may take ten minutes: what is sent now is answered before the hour is over.
    clock.now = 50 * minute - 1;
    await say(conversation, engine, "two");
    clock.now = 50 * minute;
    await say(conversation, engine, "three");
    await say(conversation, engine, "four");
    expect(await shapesOf(conversation)).toEqual([
      "websocket full first-request",
      "websocket chained",
      "websocket full connection-closed",
      "websocket chained",
    ]);
    expect(server.requests.map(({ socket, status }) => [socket, status])).toEqual([
      [0, 200],
      [0, 200],
      [1, 200],
      [1, 200],
    ]);
    await expect.poll(() => server.sockets.open).toBe(1);
    await expectSound(workshop);
  });

  test("is left when the answer that is on its way has come, and not before", async () => {
    const clock = { now: 0 };
    const held = Promise.withResolvers();
    const { server, workshop, engine } = await startAt(clock, {
      async answer({ request }) {
        if (request === 1) await held.promise;
        return { output: [message(`answer ${request}`)] };
      },
    });
    const [one, other] = ["cnv_one", "cnv_other"].map((id) => workshop.store.conversation(id));
    if (one === undefined || other === undefined) throw new Error("there are two");
    await say(one, engine, "one");
    const late = say(one, engine, "two");
    await expect.poll(() => server.requests.length).toBe(2);
    clock.now = 55 * minute;
    await say(other, engine, "meanwhile");
    expect(server.sockets.open).toBe(2);
    held.resolve(null);
    expect(await late).toBe("answer 1");
    await expect.poll(() => server.sockets.open).toBe(1);
    expect(server.requests.map(({ socket }) => socket)).toEqual([0, 0, 1]);
  });
});
