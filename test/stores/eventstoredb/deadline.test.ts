import { expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { EsdbFailure, TimeoutFailure } from "../../../src/stores/eventstoredb/failure.ts";
import { createPatience } from "../../../src/stores/eventstoredb/patience.ts";
import type { Time } from "../../../src/stores/time.ts";
import { all, appendPrepared } from "../../../src/testing/contracts/prepared.ts";
import { opened, startServer } from "../../support/stores/eventstoredb-opened.ts";

/** A clock that goes on only where somebody waits by it. */
function handClock() {
  const clock = { nowMs: 0 };
  const time: Time = {
    nowMs: () => clock.nowMs,
    async wait(ms) {
      clock.nowMs += ms;
    },
  };
  return { clock, time };
}

/** The error with which trying ends, and when: each try fails, after so long. */
async function given(
  forMs: number,
  tries: (n: number, leftMs: number) => { readonly tookMs: number; readonly error: Error },
  behindMs = forMs,
) {
  const { clock, time } = handClock();
  const patience = createPatience({ forMs, behindMs, time });
  for (let n = 0; ; n += 1) {
    const { tookMs, error } = tries(n, patience.leftMs());
    clock.nowMs += tookMs;
    try {
      await patience.wait(error);
    } catch (caught) {
      return { caught, atMs: clock.nowMs, tries: n + 1 };
    }
  }
}

const refused = new EsdbFailure("passing", "connection refused");
const behind = new EsdbFailure("behind", "its log ends before");

test("a call ends at its deadline, however its tries end, and a silent server has no more time than one that refuses", async () => {
  const fast = await given(10_000, () => ({ tookMs: 1, error: refused }));
  expect(fast.atMs).toBeGreaterThan(8_900);
  expect(fast.atMs).toBeLessThanOrEqual(10_000);
  const silent = await given(10_000, (_, leftMs) => {
    const tookMs = Math.min(5_000, leftMs);
    return { tookMs, error: new TimeoutFailure(tookMs) };
  });
  expect(silent).toMatchObject({ atMs: 10_000, tries: 2 });
});

test("the outcome of a try that the deadline cut short is unknown: the error is that of the try before", async () => {
  const { caught } = await given(1_000, (n, leftMs) =>
    n === 0 ? { tookMs: 900, error: refused } : { tookMs: leftMs, error: new TimeoutFailure(leftMs) },
  );
  expect(caught).toBe(refused);
});

test("a server that comes back after long has its time to catch up, and no more than that", async () => {
  const away = 3_600_000;
  const { caught, atMs } = await given(
    Number.POSITIVE_INFINITY,
    (n) => (n === 0 ? { tookMs: away, error: refused } : { tookMs: 1, error: behind }),
    10_000,
  );
  expect(caught).toBe(behind);
  expect(atMs - away).toBeGreaterThan(8_900);
  expect(atMs - away).toBeLessThanOrEqual(10_020);
});

test("an append, a read and opening tell a server that is silent within one deadline, and so does a message", async () => {
  const deadlineMs = 600;
  const server = await startServer();
  await using store = await openStore(server.connectionString, { deadlineMs, viewsPath: ":memory:" });
  const conversation = store.conversation("cnv_silent");
  await conversation.append("Hello");
  const faults = (["append", "read", "subscribe"] as const).map((on) =>
    server.inject({ on, outcome: "silence", everySince: true }),
  );
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    message: () => conversation.append("Are you there?"),
    append: () => appendPrepared(store.events, {}),
    readStream: () => all(store.events.readStream("conversation-cnv_silent")),
    readLog: () => all(store.events.readLog()),
    head: () => store.events.head("conversation-cnv_other"),
    opening: () => opened(server.connectionString, { deadlineMs }),
  };
  const hits = (): number => faults.reduce((sum, fault) => sum + fault.hits, 0);
  for (const [name, call] of Object.entries(calls)) {
    const before = hits();
    await expect(call(), name).rejects.toThrow(StoreUnavailableError);
    // A try takes half the deadline, and an append also reads its stream's settings: a second deadline would send more.
    expect([name, hits() - before <= 3]).toEqual([name, true]);
  }
});

test.each([0, 1.5, "10", Number.NaN])("a deadline of %s is refused", async (deadlineMs) => {
  // @ts-expect-error Callers may have no types.
  await expect(openStore("memory:", { deadlineMs })).rejects.toThrow("deadlineMs");
});
