import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Fault,
  message,
  type ReferenceServer,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import type { Interceptor } from "../../../src/engine/session/breakpoint.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf, type Workshop } from "../../support/workshop.ts";

type Talk = Workshop & {
  readonly server: ReferenceServer;
  readonly engineWith: (config: Partial<EngineConfig>) => Engine;
};

async function talkTo(...faults: readonly (Fault | undefined)[]): Promise<Talk> {
  const server = await startReferenceServer({ answer: () => ({ output: [message("Here.")] }) });
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.inject(...faults);
  const workshop = createWorkshop();
  await workshop.conversation.append("hello");
  const engineWith = (config: Partial<EngineConfig>): Engine =>
    workshop.engine({ provider: endpoint(server), ...config });
  return { ...workshop, server, engineWith };
}

const endpoint = ({ baseUrl }: ReferenceServer, options: { fetch?: typeof fetch; background?: boolean } = {}) =>
  openaiResponses({ model: "m", baseURL: baseUrl, apiKey: "key", transport: "json", ...options });

const refusal = (status: number, headers: Record<string, string> = {}): Fault => ({
  kind: "answer",
  status,
  headers,
  body: { error: { message: "try later", type: "server_error", code: null, param: null } },
});

const failuresOf = async ({ conversation }: Workshop) => dataOf(await eventsOf(conversation), "InferenceFailed");
const statusesOf = ({ server }: Talk): readonly number[] => server.requests.map(({ status }) => status);

describe("a request that the server did not act on", () => {
  test.each([
    ["429", refusal(429)],
    ["503", refusal(503)],
    ["529", refusal(529)],
    ["500 with x-should-retry", refusal(500, { "x-should-retry": "true" })],
  ])("is sent again after a while (%s), and each attempt is an event", async (_, fault) => {
    const talk = await talkTo(fault, fault);
    const result = await talk.conversation.run(talk.engineWith({}));
    expect(result.text).toBe("Here.");
    expect(typesOf(await eventsOf(talk.conversation)).slice(3)).toEqual([
      ...["RunStarted", "InferenceRequested", "InferenceFailed", "InferenceRequested", "InferenceFailed"],
      ...["InferenceRequested", "ResponseReceived", "RunCompleted"],
    ]);
    const requested = dataOf(await eventsOf(talk.conversation), "InferenceRequested");
    expect(requested.map(({ attempt }) => attempt)).toEqual([0, 1, 2]);
    expect(new Set(talk.server.requests.map(({ bodyText }) => bodyText)).size).toBe(1);
    const failures = await failuresOf(talk);
    expect(failures.map(({ outcome }) => outcome)).toEqual(["rejected", "rejected"]);
    expect(failures.map(({ retryInMs }) => retryInMs)).toEqual(talk.waits);
    const [first = 0, second = 0] = talk.waits;
    expect([first >= 250 && first <= 500, second >= 500 && second <= 1_000]).toEqual([true, true]);
  });

  test("is sent again no sooner than the server asks, and at once fails where that is too long", async () => {
    const patient = await talkTo(refusal(429, { "retry-after": "20" }));
    await patient.conversation.run(patient.engineWith({}));
    const [wait = 0] = patient.waits;
    expect(wait >= 20_000 && wait <= 20_500).toBe(true);
    const hurried = await talkTo(refusal(429, { "retry-after": "20" }));
    const error = await rejectionOf(hurried.conversation.run(hurried.engineWith({ retry: { maxDelayMs: 19_999 } })));
    expect(error).toMatchObject({ kind: "rate-limited", cause: { retryAfterMs: 20_000 } });
    expect([hurried.waits, statusesOf(hurried)]).toEqual([[], [429]]);
  });

  test("is sent again when no server listened at the address", async () => {
    const talk = await talkTo();
    let calls = 0;
    const route: typeof fetch = (url, init) => {
      calls += 1;
      const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" });
      return calls === 1 ? Promise.reject(new TypeError("fetch failed", { cause: refused })) : fetch(url, init);
    };
    const result = await talk.conversation.run(talk.engineWith({ provider: endpoint(talk.server, { fetch: route }) }));
    expect([result.text, calls]).toEqual(["Here.", 2]);
    expect(await failuresOf(talk)).toMatchObject([{ kind: "connection", outcome: "rejected" }]);
  });

  test("fails the run when it was refused as often as it may be", async () => {
    const talk = await talkTo(...Array.from({ length: 9 }, () => refusal(429)));
    expect(await rejectionOf(talk.conversation.run(talk.engineWith({})))).toMatchObject({ kind: "rate-limited" });
    expect(statusesOf(talk)).toEqual([429, 429, 429]);
    await talk.conversation.append("again");
    await rejectionOf(talk.conversation.run(talk.engineWith({ retry: { maxRetries: 0 } })));
    expect(statusesOf(talk)).toHaveLength(4);
  });

  test("is not sent again when the server says so", async () => {
    const talk = await talkTo(refusal(429, { "x-should-retry": "false" }));
    expect(await rejectionOf(talk.conversation.run(talk.engineWith({})))).toMatchObject({ kind: "rate-limited" });
    expect([talk.waits, statusesOf(talk)]).toEqual([[], [429]]);
  });

  test("is waited for no longer than the run's signal says", async () => {
    const talk = await talkTo(refusal(429));
    const controller = new AbortController();
    const sleep = async (_: number, signal: AbortSignal): Promise<void> => {
      controller.abort(new Error("enough"));
      signal.throwIfAborted();
      throw new Error("the wait went on");
    };
    const running = talk.conversation.run(talk.engineWith({ sleep }), { signal: controller.signal });
    expect(await rejectionOf(running)).toMatchObject({ code: "run-cancelled" });
    expect(statusesOf(talk)).toEqual([429]);
  });

  test("is waited for again by who takes up the run, for the rest of the time and whatever the policy is by then", async () => {
    const talk = await talkTo(refusal(429, { "retry-after": "20" }));
    // The process dies while it waits.
    const gate: Interceptor = async (stop) => {
      const isTold = stop.kind === "append" && stop.entries.some(({ event }) => event.type === "InferenceFailed");
      if (isTold && stop.phase === "after") throw new Error("the process died");
      return null;
    };
    await rejectionOf(talk.conversation.run(talk.engineWith({}), interceptedBy(gate, {})));
    const [{ retryInMs = 0 } = {}] = await failuresOf(talk);
    talk.clock.now += 5_000;
    const resumed = await talk.conversation.resume(talk.engineWith({ retry: { maxRetries: 0 } }));
    expect(resumed).toMatchObject({ text: "Here.", status: "completed" });
    expect(talk.waits).toEqual([retryInMs - 5_000]);
  });

  test("is the same attempt again when the run is executed again, without a wait", async () => {
    const talk = await talkTo(refusal(429));
    const engine = talk.engineWith({});
    await talk.conversation.run(engine);
    const waited = talk.waits.length;
    const again = await reexecute(talk.conversation, engine);
    expect([again.difference, talk.waits.length - waited]).toEqual([null, 0]);
  });
});

describe("a request that the server may have acted on", () => {
  test.each([
    ["500", refusal(500)],
    ["an answer that broke off", { kind: "cut", afterBytes: 10 } as const],
    ["an answer that never came", { kind: "lost-acknowledgement" } as const],
  ])("is not sent again: %s ends the run", async (_, fault) => {
    const talk = await talkTo(fault);
    expect(await rejectionOf(talk.conversation.run(talk.engineWith({})))).toMatchObject({ code: "run-failed" });
    expect(talk.server.requests).toHaveLength(1);
    const [failure] = await failuresOf(talk);
    expect([failure?.outcome, failure?.retryInMs]).toEqual(["unknown", undefined]);
  });

  test("is not sent again when what the server makes in the background cannot be fetched", async () => {
    const talk = await talkTo();
    let gets = 0;
    const route: typeof fetch = (url, init) => {
      if (init?.method?.toUpperCase() !== "GET") return fetch(url, init);
      gets += 1;
      return Promise.resolve(new Response("{}", { status: 400, headers: { "x-should-retry": "true" } }));
    };
    const provider = endpoint(talk.server, { fetch: route, background: true });
    expect(await rejectionOf(talk.conversation.run(talk.engineWith({ provider })))).toMatchObject({
      cause: { outcome: "unknown" },
    });
    expect([talk.server.requests.filter(({ method }) => method === "POST").length, gets]).toEqual([1, 1]);
  });
});

test("answers and failures carry the id that the provider gave the request", async () => {
  const talk = await talkTo(refusal(429));
  await talk.conversation.run(talk.engineWith({}));
  expect(await failuresOf(talk)).toMatchObject([{ requestId: "req_0" }]);
  expect(dataOf(await eventsOf(talk.conversation), "ResponseReceived")).toMatchObject([{ requestId: "req_1" }]);
});

test.each<[object, string]>([
  [{ maxRetries: -1 }, "retry.maxRetries is -1"],
  [{ maxRetries: 1.5 }, "retry.maxRetries is 1.5"],
  [{ maxDelayMs: Number.NaN }, "retry.maxDelayMs is NaN"],
  [{ maxDelayMs: 16 * 60_000 }, "takeoverAfterMs"],
  [{ maxDelay: 1 }, "maxDelay"],
])("createEngine refuses a retry policy of %j", (retry, named) => {
  expect(() => createWorkshop().scripted([], { retry })).toThrow(named);
});
