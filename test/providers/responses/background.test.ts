import { describe, expect, test } from "vitest";
import {
  message,
  type ReferenceServer,
  type ReferenceServerOptions,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import type { Provider, StreamDelta } from "../../../src/engine/ports/provider.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { ask, failureOf, idOf, textOf } from "../../support/providers/inferences.ts";

const fetches = (server: ReferenceServer) => server.requests.filter(({ method }) => method === "GET");

describe.each(["json", "sse"] as const)("a response that is made in the background, by %s", (transport) => {
  const bodyText = JSON.stringify({
    model: "m",
    background: true,
    store: true,
    include: ["reasoning.encrypted_content"],
    input: "go",
    ...(transport === "sse" ? { stream: true } : {}),
  });
  const opened = async (options: ReferenceServerOptions = {}) => {
    const server = await startReferenceServer(options);
    const provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseUrl, transport });
    return { server, provider, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  };
  const whole = { answer: () => ({ output: [message("All is well.")] }) };

  test("is named before it is there, and comes whole", async () => {
    await using world = await opened(whole);
    const started: string[] = [];
    let fetched = -1;
    const asked = await ask(world.provider, {
      bodyText,
      onStarted: async (id) => {
        started.push(id);
        fetched = fetches(world.server).length;
      },
    });
    expect(started).toEqual([idOf(asked)]);
    expect(fetched).toBe(0);
    expect(asked.response).toMatchObject({ status: "completed", background: true });
    expect(textOf(asked.deltas, "text-delta")).toBe("All is well.");
    const { response } = await world.provider.waitFor(idOf(asked), waiting());
    expect(response).toEqual(asked.response);
    expect(decodeURIComponent(fetches(world.server).at(-1)?.path ?? "")).toContain(
      "include[]=reasoning.encrypted_content",
    );
  });

  test("is fetched when the stream breaks off after it was named, wherever", async () => {
    let cuts = 0;
    for (let afterBytes = 0; ; afterBytes += 211) {
      await using world = await opened(whole);
      world.server.inject({ kind: "cut", afterBytes });
      const started: string[] = [];
      const outcome = await ask(world.provider, {
        bodyText,
        onStarted: async (id) => {
          started.push(id);
        },
      }).catch((error: unknown) => error);
      if (world.server.requests[0]?.hasFaultFired !== true) break;
      cuts += 1;
      if (started.length === 0) expect(outcome).toMatchObject({ name: "ProviderError", outcome: "unknown" });
      else expect(outcome).toMatchObject({ response: { id: started[0], status: "completed" } });
    }
    expect(cuts).toBeGreaterThan(3);
  });

  test("that the server does not have any more is lost", async () => {
    await using world = await opened();
    const id = idOf(await ask(world.provider, { bodyText }));
    world.server.forget(id);
    const failure = await failureOf(world.provider.waitFor(id, waiting()));
    expect(failure).toMatchObject({ kind: "lost-response", outcome: "unknown", status: 404 });
  });

  test("that failed is a failure, and is not asked about again", async () => {
    await using world = await opened({
      answer: () => ({ output: [], status: "failed", error: { code: "server_error", message: "no" } }),
    });
    let id = "";
    const asked = ask(world.provider, {
      bodyText,
      onStarted: async (started) => {
        id = started;
      },
    });
    expect(await failureOf(asked)).toMatchObject({ kind: "server-error", outcome: "unknown" });
    const before = fetches(world.server).length;
    expect(await failureOf(world.provider.waitFor(id, waiting()))).toMatchObject({ kind: "server-error" });
    expect(fetches(world.server).length).toBe(before + 1);
  });

  test("is no more named when what names it cannot be kept", async () => {
    await using world = await opened();
    const full = new Error("the disk is full");
    const asked = ask(world.provider, { bodyText, onStarted: () => Promise.reject(full) });
    await expect(asked).rejects.toBe(full);
    expect(fetches(world.server)).toEqual([]);
  });
});

describe("a stream that breaks off while the response is made in the background", () => {
  const bodyText = JSON.stringify({ model: "m", background: true, store: true, input: "go", stream: true });
  const text = "a text that takes a number of deltas, each of a few letters";
  const opened = async (fetch?: typeof globalThis.fetch) => {
    const answer = () => ({ output: [message(text)] });
    const server = await startReferenceServer({ answer, deltaLength: 5, seed: "streams" });
    const provider = openaiResponses({
      model: "m",
      apiKey: "sk-test",
      baseURL: server.baseUrl,
      ...(fetch && { fetch }),
    });
    return { server, provider, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  };
  const paths = (server: ReferenceServer) =>
    fetches(server).map(({ path }) => decodeURIComponent(path).replace(/.*\?/, ""));

  test("continues after the last event that came: nothing is reported twice, and nothing is missed", async () => {
    await using unbroken = await opened();
    const { deltas: whole } = await ask(unbroken.provider, { bodyText });
    let resumptions = 0;
    for (let afterBytes = 0; ; afterBytes += 509) {
      await using world = await opened();
      // The stream that is read on breaks off too.
      world.server.inject({ kind: "cut", afterBytes }, { kind: "cut", afterBytes: 700 });
      const started: string[] = [];
      const onStarted = async (id: string) => void started.push(id);
      const asked = await ask(world.provider, { bodyText, onStarted }).catch((error: unknown) => error);
      if (world.server.requests[0]?.hasFaultFired !== true) break;
      if (started.length === 0) continue;
      expect(asked).toMatchObject({ response: { id: started[0], status: "completed" } });
      expect(asked).toMatchObject({ deltas: whole });
      expect(paths(world.server)[0]).toMatch(/^stream=true&starting_after=\d+$/);
      resumptions += fetches(world.server).length;
    }
    expect(resumptions).toBeGreaterThan(8);
  });

  test("is fetched where the server streams nothing again", async () => {
    const refusing: typeof globalThis.fetch = async (address, init) =>
      new Request(address, init).url.includes("stream=true")
        ? Response.json({ error: { message: "no such stream", type: "invalid_request_error" } }, { status: 404 })
        : globalThis.fetch(address, init);
    await using world = await opened(refusing);
    world.server.inject({ kind: "cut", afterBytes: 3_000 });
    expect((await ask(world.provider, { bodyText })).response).toMatchObject({ status: "completed" });
    expect(paths(world.server)).toHaveLength(1);
  });

  test("is fetched where the server begins its stream anew without end", async () => {
    await using world = await opened();
    const cut = { kind: "cut", afterBytes: 0 } as const;
    world.server.inject({ kind: "cut", afterBytes: 3_000 }, ...Array.from({ length: 6 }, () => cut));
    expect((await ask(world.provider, { bodyText })).response).toMatchObject({ status: "completed" });
    expect(paths(world.server)).toHaveLength(7);
  });

  test("is read by another process from where the first one learned of it", async () => {
    await using world = await opened();
    let begun: { readonly id: string; readonly cursor: number | undefined } | undefined;
    const { deltas } = await ask(world.provider, {
      bodyText,
      onStarted: async (id, { cursor } = {}) => {
        begun = { id, cursor };
      },
    });
    expect(begun?.cursor).toBe(0);
    const told: StreamDelta[] = [];
    await world.provider.waitFor(begun?.id ?? "", { ...waiting(), cursor: 0, onDelta: (delta) => told.push(delta) });
    expect(told).toEqual(deltas);
    expect(paths(world.server)).toEqual(["stream=true&starting_after=0&include[]=reasoning.encrypted_content"]);
  });
});

describe("a response that takes its time", () => {
  const bodyText = JSON.stringify({ model: "m", background: true, store: true, input: "go" });
  const slow = async () => {
    const answer = Promise.withResolvers<undefined>();
    const server = await startReferenceServer({
      answer: async () => {
        await answer.promise;
        return { output: [message("At last.")] };
      },
    });
    const provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseUrl, transport: "json" });
    return { server, provider, answer, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  };

  test("is asked about until it has ended", async () => {
    await using world = await slow();
    const asked = ask(world.provider, { bodyText });
    await expect.poll(() => fetches(world.server).length).toBeGreaterThan(1);
    world.answer.resolve(undefined);
    expect(textOf((await asked).deltas, "text-delta")).toBe("At last.");
  });

  test("can be cancelled, and the waiting caller learns of it", async () => {
    await using world = await slow();
    const started = Promise.withResolvers<string>();
    const asked = ask(world.provider, {
      bodyText,
      onStarted: async (id) => {
        started.resolve(id);
      },
    });
    const id = await started.promise;
    await world.provider.cancel(id, waiting());
    await world.provider.cancel(id, waiting());
    expect((await asked).response).toMatchObject({ id, status: "cancelled" });
    world.answer.resolve(undefined);
    expect(world.server.response(id)).toMatchObject({ status: "cancelled" });
  });

  test("is not waited for without a caller", async () => {
    await using world = await slow();
    const controller = new AbortController();
    const asked = ask(world.provider, { bodyText, signal: controller.signal });
    await expect.poll(() => fetches(world.server).length).toBeGreaterThan(0);
    controller.abort();
    expect(await failureOf(asked)).toMatchObject({ kind: "aborted", outcome: "unknown" });
  });

  test("is kept ten minutes, unless it was to be stored", async () => {
    let now = 1_772_366_400_000;
    await using server = await startReferenceServer({ now: () => now });
    const provider = openaiResponses({ model: "m", apiKey: "sk-test", baseURL: server.baseUrl, transport: "json" });
    const brief = idOf(await ask(provider, { bodyText: '{"model":"m","background":true,"input":"go"}' }));
    const stored = idOf(await ask(provider, { bodyText }));
    now += 10 * 60_000 - 1;
    expect(idOf(await waited(provider, brief))).toBe(brief);
    now += 1;
    expect(await failureOf(provider.waitFor(brief, waiting()))).toMatchObject({ kind: "lost-response" });
    expect(idOf(await waited(provider, stored))).toBe(stored);
  });
});

test("a script makes its answers in the background as a server does", async () => {
  const provider = scripted(["Here I am."]);
  const bodyText = JSON.stringify({ model: "m", background: true, input: "go" });
  const cut = new Error("the process has ended");
  let id = "";
  const asked = ask(provider, {
    bodyText,
    onStarted: async (started) => {
      id = started;
      throw cut;
    },
  });
  await expect(asked).rejects.toBe(cut);
  expect(await waited(provider, id)).toMatchObject({ response: { id, status: "completed" } });
  expect(await failureOf(waited(provider, "resp_other"))).toMatchObject({ kind: "lost-response" });
});

const waiting = () => ({
  signal: new AbortController().signal,
  settings: { include: ["reasoning.encrypted_content"] },
});

async function waited(provider: Provider, id: string) {
  if (provider.waitFor === undefined) throw new Error("this provider cannot wait for responses");
  return { ...(await provider.waitFor(id, waiting())), deltas: [] };
}

test.each<[status: number, fetches: number]>([
  [500, 3],
  [503, 3],
  [400, 1],
])("a fetch that fails with %i says nothing of the response: %i are made", async (status, fetches) => {
  let made = 0;
  const fetch = async (address: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const isFetch = new Request(address, init).method === "GET";
    if (isFetch) made += 1;
    if (isFetch && made < 3) return Response.json({ error: { message: "not now" } }, { status });
    const done = { status: "completed", output: [{ type: "message", id: "msg_1", ...message("At last.").item }] };
    const response = isFetch ? done : { status: "queued", output: [] };
    return Response.json({ id: "resp_1", object: "response", background: true, ...response });
  };
  const provider = openaiResponses({
    ...{ model: "m", apiKey: "sk-test", baseURL: "http://localhost/v1", transport: "json", fetch },
  });
  const asked = ask(provider, { bodyText: JSON.stringify({ model: "m", background: true, store: true, input: "go" }) });
  if (status >= 500) expect((await asked).response).toMatchObject({ status: "completed" });
  else expect(await failureOf(asked)).toMatchObject({ status });
  expect(made).toBe(fetches);
});

test("an answer that the server has only queued is fetched until it is there, although background was not requested", async () => {
  const asked: string[] = [];
  const statuses = ["queued", "in_progress", "completed"];
  const fetch = async (address: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { method, url } = new Request(address, init);
    asked.push(`${method} ${new URL(url).pathname}`);
    const output = statuses.length === 1 ? [{ type: "message", id: "msg_1", ...message("At last.").item }] : [];
    return Response.json({ id: "resp_1", object: "response", status: statuses.shift(), output });
  };
  const provider = openaiResponses({
    model: "m",
    apiKey: "sk-test",
    baseURL: "http://localhost/v1",
    transport: "json",
    fetch,
  });
  const started: string[] = [];
  const { response } = await ask(provider, {
    bodyText: JSON.stringify({ model: "m", input: "go" }),
    onStarted: async (id) => {
      started.push(id);
    },
  });
  expect(response).toMatchObject({ status: "completed" });
  expect(started).toEqual(["resp_1"]);
  expect(asked).toEqual(["POST /v1/responses", "GET /v1/responses/resp_1", "GET /v1/responses/resp_1"]);
});
