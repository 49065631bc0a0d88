import { expect, test } from "vitest";
import type { StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { parsePostgresAddress } from "../../../src/stores/postgres/address.ts";
import { createTail, follow } from "../../../src/stores/postgres/tail.ts";
import { prepared } from "../../../src/testing/contracts/prepared.ts";

/** A log in memory, whose next page can be held back. */
function createLog() {
  const events: StoredEnvelope[] = [];
  let gate: PromiseWithResolvers<undefined> | null = null;
  const newest = (): string => String(events.length);
  return {
    add: (): void => {
      const [envelope] = prepared().envelopes;
      if (envelope !== undefined) events.push({ ...envelope, position: String(events.length + 1) });
    },
    /** Holds the next page back until the returned function is called. */
    holdPage: (): (() => void) => {
      const held = Promise.withResolvers<undefined>();
      gate = held;
      return () => held.resolve(undefined);
    },
    reads: {
      mark: async () => ({ horizon: newest(), newest: newest(), reached: newest() }),
      async page({ after, to, limit }: { readonly after: string; readonly to: string; readonly limit: number }) {
        const held = gate;
        gate = null;
        await held?.promise;
        const found = events.slice(Number(after), Math.min(Number(to), Number(after) + limit));
        return { events: found, last: found.at(-1)?.position ?? null, isFull: found.length === limit };
      },
    },
  };
}

const database = { address: parsePostgresAddress("postgres://h/app?sslmode=disable&pollMs=60000") };
const quickly = { interval: 1, timeout: 20_000 };

test("a follower that begins after an event that the shared poll has not handed out yet does not get that event", async () => {
  const { add, holdPage, reads } = createLog();
  const closing = new AbortController();
  const { signal } = closing;
  const tail = createTail({ database, reads, closing: signal, warn: () => undefined });
  const [early, late]: [string[], string[]] = [[], []];
  const following = (
    [
      [early, "0"],
      [late, "3"],
    ] as const
  ).map(([seen, after]) => async (): Promise<void> => {
    for await (const events of follow({ reads, tail }, { after, streamPrefix: "", signal }))
      seen.push(...events.map(({ position }) => position));
  });
  add();
  const first = following[0]?.();
  await expect.poll(() => early.length, quickly).toBe(1);
  const release = holdPage();
  add();
  tail.wake();
  const second = following[1]?.();
  await new Promise(setImmediate);
  release();
  for (const length of [2, 3, 4]) {
    await expect.poll(() => early.length, quickly).toBe(length);
    if (length === 4) break;
    add();
    tail.wake();
  }
  closing.abort();
  await Promise.all([first, second]);
  expect({ early, late }).toEqual({ early: ["1", "2", "3", "4"], late: ["4"] });
});

test("a follower that comes while events are handed out gets each of them once, whenever it comes", async () => {
  const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
  };
  for (let n = 0; n < 100; n += 1) {
    const [begin, delay] = [n % 10, Math.floor(n / 10)];
    const { add, holdPage, reads } = createLog();
    const closing = new AbortController();
    const { signal } = closing;
    const tail = createTail({ database, reads, closing: signal, warn: () => undefined });
    const positionsOf = async (wanted: number, seen: string[]): Promise<void> => {
      for await (const events of follow({ reads, tail }, { after: "0", streamPrefix: "", signal })) {
        seen.push(...events.map(({ position }) => position));
        if (seen.length >= wanted) return;
      }
    };
    const [early, late]: [string[], string[]] = [[], []];
    add();
    const first = positionsOf(3, early);
    await expect.poll(() => early.length, quickly).toBe(1);
    const release = holdPage();
    add();
    tail.wake();
    await turns(begin);
    const second = positionsOf(3, late);
    await turns(delay);
    release();
    await expect.poll(() => [early.length, late.length > 1], quickly).toEqual([2, true]);
    add();
    tail.wake();
    await Promise.all([first, second]);
    closing.abort();
    expect({ n, early, late }).toEqual({ n, early: ["1", "2", "3"], late: ["1", "2", "3"] });
  }
});
