import { expect, onTestFinished, test } from "vitest";
import { createLeaseWatch, type LeaseSight } from "../../../src/stores/leases/lease-watch.ts";
import type { Time } from "../../../src/stores/time.ts";

/** A watch over leases that a test renews, by a clock that the test moves. */
function watching() {
  let now = 0;
  const waits = new Set<{ readonly due: number; readonly wake: () => void }>();
  const closing = new AbortController();
  onTestFinished(() => closing.abort(new Error("the test is over")));
  const time: Time = {
    nowMs: () => now,
    wait: (ms, signal) =>
      new Promise((resolve) => {
        waits.add({ due: now + ms, wake: () => resolve(undefined) });
        signal?.addEventListener("abort", () => resolve(undefined));
      }),
  };
  const server: { sight: LeaseSight; hasFailed: boolean; looks: number } = { sight: 0, hasFailed: false, looks: 0 };
  const look = async () => {
    server.looks += 1;
    const { sight, hasFailed } = server;
    server.hasFailed = false;
    return { sight, hasFailed };
  };
  const pace = { deadAfterMs: 45_000, lookMs: 2_000 };
  const watch = createLeaseWatch({ look, pace, time, closing: closing.signal });
  /** Lets time pass, and each wait end when it is due. */
  async function pass(ms: number): Promise<void> {
    const until = now + ms;
    for (;;) {
      await new Promise(setImmediate);
      const next = [...waits].filter(({ due }) => due <= until).toSorted((left, right) => left.due - right.due)[0];
      if (next === undefined) break;
      waits.delete(next);
      now = Math.max(now, next.due);
      next.wake();
    }
    now = until;
  }
  const stall = (ms: number): void => {
    now += ms;
  };
  return { ...watch, server, pass, stall };
}

/** What a promise has come to by now. */
const soFar = async <T>(promise: Promise<T>): Promise<T | "waits"> => {
  await new Promise(setImmediate);
  return Promise.race([promise, Promise.resolve("waits" as const)]);
};

test("a holder is dead when the reader itself saw its lease unrenewed for 45 s, and not before", async () => {
  const { look, untilKnown, pass } = watching();
  expect(await look("lse_1")).toBe("unsure");
  const known = untilKnown("lse_1");
  await pass(43_999);
  expect(await soFar(known)).toBe("waits");
  await pass(2_001);
  expect(await soFar(known)).toBe("dead");
  expect(await look("lse_1")).toBe("dead");
});

test("one renewal is enough to know that a holder lives, and then the watch ends", async () => {
  const { untilKnown, server, pass } = watching();
  const known = untilKnown("lse_1");
  await pass(8_000);
  server.sight = 1;
  await pass(2_000);
  expect(await soFar(known)).toBe("alive");
  const { looks } = server;
  await pass(60_000);
  expect(server.looks).toBe(looks);
});

test("a holder that was seen alive and died is found out from the next look on", async () => {
  const { look, untilKnown, server, pass } = watching();
  const known = untilKnown("lse_1");
  server.sight = 1;
  await pass(2_000);
  expect(await soFar(known)).toBe("alive");
  await pass(20_000);
  expect(await look("lse_1")).toBe("alive");
  await pass(44_000);
  expect(await look("lse_1")).toBe("dead");
});

test("a reader that looks again after long does not know what was between, and waits for a sign", async () => {
  const { look, server, pass } = watching();
  await look("lse_1");
  server.sight = 1;
  await pass(2_000);
  expect(await look("lse_1")).toBe("alive");
  await pass(600_000);
  server.sight = 50;
  expect(await look("lse_1")).toBe("unsure");
  server.sight = 51;
  await pass(2_000);
  expect(await look("lse_1")).toBe("alive");
});

test("a server that does not answer for a while begins the wait anew: no holder could renew its lease either", async () => {
  const { untilKnown, server, pass } = watching();
  const known = untilKnown("lse_1");
  await pass(40_000);
  server.hasFailed = true;
  await pass(2_000);
  await pass(44_000);
  expect(await soFar(known)).toBe("waits");
  await pass(2_000);
  expect(await soFar(known)).toBe("dead");
});

test("a reader that was suspended does not count the time in which it looked at nothing", async () => {
  const { untilKnown, pass, stall } = watching();
  const known = untilKnown("lse_1");
  await pass(10_000);
  stall(3_600_000);
  await pass(30_000);
  expect(await soFar(known)).toBe("waits");
  await pass(6_000);
  expect(await soFar(known)).toBe("dead");
});

test("a holder that comes back after it was taken for dead is alive again", async () => {
  const { look, server, pass } = watching();
  await look("lse_1");
  await pass(50_000);
  expect(await look("lse_1")).toBe("dead");
  server.sight = 1;
  expect(await look("lse_1")).toBe("alive");
});

test("a lease that has ended or never existed is dead at once", async () => {
  const { look, untilKnown, server } = watching();
  await look("lse_1");
  for (const sight of ["ended", "none"] as const) {
    server.sight = sight;
    expect([await look("lse_1"), await untilKnown("lse_1")]).toEqual(["dead", "dead"]);
  }
});

test("however many wait for a lease, it is looked at once at a time", async () => {
  const { untilKnown, server, pass } = watching();
  const known = Promise.all(Array.from({ length: 20 }, () => untilKnown("lse_1")));
  await pass(0);
  const { looks } = server;
  await pass(10_000);
  expect(server.looks - looks).toBe(5);
  server.sight = 1;
  await pass(2_000);
  expect(new Set(await known)).toEqual(new Set(["alive"]));
});
