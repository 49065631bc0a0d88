import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { erasureOrders, unfinishedErasures } from "../../../src/log/system-streams/erasures.ts";
import type { ErasureReceipt } from "../../../src/operations/erasure/receipt.ts";
import { copyConversations } from "../../../src/operations/transfer/copy.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { cases } from "../../support/cases.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;
const secret = "My number is 555-0199, and that is all.";
const longText = `${secret} ${"and so on ".repeat(6_600)}`;

/** A store before whose n-th call something else happens. */
function interrupted(store: EventStore, at: number, act: () => Promise<void>) {
  let calls = 0;
  async function due(): Promise<void> {
    calls += 1;
    if (calls === at) await act();
  }
  const events: EventStore = {
    ...store,
    [Symbol.asyncDispose]: () => store.close(),
    async append(prepared) {
      await due();
      return store.append(prepared);
    },
    async head(stream) {
      await due();
      return store.head(stream);
    },
    async *readStream(stream, options) {
      await due();
      yield* store.readStream(stream, options);
    },
    async *heads(prefix) {
      await due();
      yield* store.heads(prefix);
    },
    async erase(erasure) {
      await due();
      if (store.erase === undefined) throw new Error("both stores erase");
      return store.erase(erasure);
    },
  };
  return { events, calls: () => calls };
}

type Pair = { readonly one: EventStore; readonly other: EventStore; readonly close: () => Promise<void> };

const stores: Readonly<Record<string, () => Promise<Pair>>> = {
  async "two handles of one store in memory"() {
    const one = createMemoryStore();
    return { one, other: one, close: () => one.close() };
  },
  async "two connections to one file"() {
    const { file } = temporaryFolder();
    const [one, other] = [await openSqliteStore(file("turnlog.db")), await openSqliteStore(file("turnlog.db"))];
    const close = async () => {
      await one.close();
      await other.close();
    };
    return { one, other, close };
  },
};

const plans = {
  text: { texts: [secret] },
  whole: { conversations: ["talk"] },
} as const;

/** Two conversations that contain the secret. */
async function filled(events: EventStore): Promise<TurnlogStore> {
  const store = new TurnlogStore(events);
  await store.conversation("talk").append([secret, longText]);
  await store.conversation("aside").append(secret);
  await store.list();
  return store;
}

const settled = (work: Promise<ErasureReceipt>): Promise<ErasureReceipt | string> =>
  work.catch((error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error)));

/** How often each event of an erasure occurs in the log. */
async function erasuresIn(store: EventStore): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for await (const { type, stream } of store.readLog())
    if (type === "LinesErased" || type === "ContentErased") counts[stream] = (counts[stream] ?? 0) + 1;
  return counts;
}

for (const [what, open] of Object.entries(stores)) {
  const step = what.includes("file") ? cases(151, 3, 41) : cases(9, 1, 2);

  for (const [kind, target] of Object.entries(plans))
    for (const way of ["continue", "begin"] as const)
      test(`an order (${kind}) that one process ${way}s and another continues at once ends once, with true receipts: ${what}`, {
        timeout: 600_000,
      }, async () => {
        for (let at = 1; ; at += step) {
          const { one, other, close } = await open();
          const store = await filled(one);
          const plan = await store.planErasure(target);
          const long = await blobEventsIn(one);
          if (way === "continue") {
            const died = {
              ...one,
              [Symbol.asyncDispose]: () => one.close(),
              erase: () => Promise.reject(new Error("it died")),
            };
            await expect(new TurnlogStore(died).erase(plan, why)).rejects.toThrow("it died");
          }
          const continued = new TurnlogStore(other);
          const seconds: (ErasureReceipt | string)[] = [];
          const { events, calls } = interrupted(one, at, async () => {
            const [order] = await orders(other);
            if (order !== undefined) seconds.push(await settled(continued.resumeErasure(order.orderId)));
          });
          const eraser = new TurnlogStore(events);
          const [begun] = await orders(one);
          const first = await settled(
            begun === undefined ? eraser.erase(plan, why) : eraser.resumeErasure(begun.orderId),
          );
          const isOver = calls() < at;
          const where = `before call ${at}`;
          const [newest] = await orders(one);
          expect(first, where).toMatchObject({ finished: true, orderId: newest?.orderId });
          for (const second of seconds)
            expect(second, where).toMatchObject({ finished: true, orderId: newest?.orderId });
          expect(newest?.isRefused, where).toBe(false);
          expect(newest?.receipt?.["done"], where).toMatchObject({ blobEvents: long });
          expect(Object.values(await erasuresIn(one)), where).toEqual(kind === "text" ? [1, 1] : [1]);
          expect((await store.verify()).problems, where).toEqual([]);
          await close();
          if (isOver) break;
        }
      });

  test(`of two erasures with overlapping plans each ends or is refused, and no line is counted twice: ${what}`, {
    timeout: 600_000,
  }, async () => {
    const outcomes = new Set<string>();
    for (const [mine, its] of [
      ["text", "whole"],
      ["whole", "text"],
      ["text", "text"],
    ] as const)
      for (let at = 1; ; at += step) {
        const { one, other, close } = await open();
        const store = await filled(one);
        const late = new TurnlogStore(other);
        const long = await blobEventsIn(one);
        const itsPlan = await late.planErasure(plans[its]);
        const seconds: (ErasureReceipt | string)[] = [];
        const { events, calls } = interrupted(one, at, async () => {
          seconds.push(await settled(late.erase(itsPlan, why)));
        });
        const eraser = new TurnlogStore(events);
        const first = await settled(eraser.planErasure(plans[mine]).then((plan) => eraser.erase(plan, why)));
        const isOver = calls() < at;
        if (!isOver) {
          const receipts = [first, ...seconds].flatMap((each) => (typeof each === "string" ? [] : [each]));
          const errors = [first, ...seconds].filter((each) => typeof each === "string");
          outcomes.add(`${mine} ${its}: ${errors.join(" ")}`);
          expect([at, receipts.length > 0]).toEqual([at, true]);
          for (const error of errors)
            expect(["erasure-refused", "conversation-erased", "not-found"], `${mine} ${its} ${at}`).toContain(error);
          expect(await unfinishedErasures(one), `${mine} ${its} ${at}`).toEqual([]);
          // The long text goes with the first of them, and only that one counts it.
          expect(sum(receipts.map(({ done }) => done.blobEvents)), `${mine} ${its} ${at}`).toBe(long);
          expect((await store.verify()).problems, `${mine} ${its} ${at}`).toEqual([]);
        }
        await close();
        if (isOver) break;
      }
    expect(outcomes.size).toBeGreaterThan(2);
    for (const outcome of ["text whole: erasure-refused", "whole text: erasure-refused", "text text: erasure-refused"])
      if (step <= 2) expect(outcomes).toContain(outcome);
  });
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

async function blobEventsIn(store: EventStore): Promise<number> {
  let count = 0;
  for await (const { head } of store.heads("blob-")) count += head.revision + 1;
  return count;
}

async function orders(store: EventStore) {
  const all = [];
  for await (const order of erasureOrders(store)) all.push(order);
  return all;
}

test("a copy of one conversation of an order whose process died refuses to continue it, because it lacks the other", async () => {
  const one = createMemoryStore();
  const store = await filled(one);
  const died = {
    ...one,
    [Symbol.asyncDispose]: () => one.close(),
    scrub: () => Promise.reject(new Error("it died")),
  };
  await expect(new TurnlogStore(died).erase(await store.planErasure(plans.text), why)).rejects.toThrow("it died");
  const [order] = await orders(one);
  for (const id of ["talk", "aside"]) {
    await using copy = new TurnlogStore(createMemoryStore());
    await copyConversations(store, copy, { conversations: [conversationIdSchema.parse(id)] });
    await expect(copy.resumeErasure(order?.orderId ?? "")).rejects.toMatchObject({ code: "erasure-refused" });
  }
  expect((await store.resumeErasure(order?.orderId ?? "")).finished).toBe(true);
  await one.close();
});
