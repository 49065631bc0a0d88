import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createScene, dieAt } from "../../support/run/scene.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** Lets the timers of a call that hangs fire, once it has begun. */
const hanging =
  (ms: number) =>
  <T>(): Promise<T> => {
    void vi.advanceTimersByTimeAsync(ms);
    return never<T>();
  };

const timedOut = { kind: "timeout", outcome: "unknown" };

test("a provider that ignores its deadline and its signal fails the run, whose queue and engine go on", async () => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const engine = workshop.engine({ provider: { ...scripted([]), timeoutMs: 1_000, infer: hanging(7_000) } });
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-failed", kind: "timeout" });
  const events = await eventsOf(conversation);
  expect(dataOf(events, "InferenceFailed")).toMatchObject([timedOut]);
  expect(typesOf(events).at(-1)).toBe("RunFailed");
  await engine[Symbol.asyncDispose]();
  expect((await conversation.run(workshop.scripted(["hi"]).engine)).text).toBe("hi");
});

test("a provider without a deadline of its own has takeoverAfterMs, less a minute", async () => {
  let heard: AbortSignal | null = null;
  const provider: Provider = {
    ...scripted([]),
    infer: ({ signal }) => {
      heard = signal;
      return hanging(64_000)();
    },
  };
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const run = rejectionOf(conversation.run(workshop.engine({ provider, takeoverAfterMs: 120_000 })));
  await vi.waitFor(() => expect(heard).toMatchObject({ aborted: true }));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await run).toMatchObject({ kind: "timeout" });
});

test("a run that is aborted waits five seconds for a provider that does not listen, and drops what it says later", async () => {
  const abort = new AbortController();
  const late = Promise.withResolvers<Awaited<ReturnType<Provider["infer"]>>>();
  const parts: string[] = [];
  const provider: Provider = {
    ...scripted([]),
    infer: ({ onDelta, onStarted }) => {
      abort.abort(new Error("enough"));
      void vi.advanceTimersByTimeAsync(5_000);
      void late.promise.then(async () => {
        onDelta({ type: "text-delta", outputIndex: 0, text: "too late" });
        await onStarted?.("resp_late");
      });
      return late.promise;
    },
  };
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const observers = [{ next: ({ type }: { readonly type: string }) => parts.push(type) }];
  const engine = workshop.engine({ provider, observers });
  expect(await rejectionOf(conversation.run(engine, { signal: abort.signal }))).toMatchObject({
    code: "run-cancelled",
  });
  const before = await eventsOf(conversation);
  expect(dataOf(before, "InferenceFailed")).toMatchObject([{ kind: "aborted", outcome: "unknown" }]);
  late.resolve({ response: {} });
  await new Promise(setImmediate);
  expect(parts).not.toContain("text-delta");
  expect(await eventsOf(conversation)).toEqual(before);
});

test("what a provider says of the call that the deadline ended stays on record", async () => {
  const item = { type: "message", id: "msg_1" };
  const provider: Provider = {
    ...scripted([]),
    timeoutMs: 1_000,
    infer: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          reject(new ProviderError("aborted", { kind: "aborted", outcome: "unknown", partial: [item] }));
        });
        void vi.advanceTimersByTimeAsync(2_000);
      }),
  };
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  await rejectionOf(conversation.run(workshop.engine({ provider })));
  expect(dataOf(await eventsOf(conversation), "InferenceFailed")).toMatchObject([{ ...timedOut, partial: [item] }]);
});

test("fetching a response, and cancelling it, end at a deadline, too", async () => {
  const provider: Provider = {
    ...scripted([]),
    timeoutMs: 1_000,
    async infer({ onStarted }) {
      await onStarted?.("resp_slow");
      return { response: {} };
    },
    waitFor: hanging(7_000),
    cancel: hanging(15_000),
  };
  const scene = createScene([], { provider });
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(
    first,
    (stop) =>
      stop.kind === "append" &&
      stop.phase === "after" &&
      stop.entries.some(({ event }) => event.type === "ResponseStarted"),
  );
  const { conversation, engine } = scene.process();
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ kind: "timeout" });
});

test("a connection that is never opened makes a warm-up unavailable", async () => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const engine = workshop.engine({ provider: { ...scripted([]), timeoutMs: 1_000, connect: hanging(7_000) } });
  const warm = await conversation.warmUp(engine);
  expect(warm).toMatchObject({ status: "unavailable", failure: timedOut });
});
