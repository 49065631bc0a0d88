import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { EventStore, StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import type { ViewStore } from "../../../src/log/ports/view-store.ts";
import { createProjector } from "../../../src/log/read-models/projector.ts";
import type { Projection } from "../../../src/projections/projection.ts";
import { usage } from "../../../src/projections/usage.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { createMemoryViews } from "../../../src/stores/memory/views.ts";
import { changedStore, rowsFromScratch, rowsOf, texts } from "../../support/read-models/rows.ts";
import { surroundedViews } from "../../support/read-models/surrounded-views.ts";
import { type Written, write, writtenLog } from "../../support/read-models/written-log.ts";

/** Parts of a log, each projected by a projector of its own before the next is written. */
type Stretches = readonly { readonly events: number; readonly maxEvents: number }[];
const stretches: fc.Arbitrary<Stretches> = fc.array(
  fc.record({ events: fc.nat(20), maxEvents: fc.integer({ min: 1, max: 9 }) }),
  { maxLength: 6 },
);

test("any split into batches, restarts and deliveries twice give the rows of one pass", async () => {
  await fc.assert(
    fc.asyncProperty(writtenLog, stretches, fc.array(fc.nat(7)), async (log, parts, repeats) => {
      await expectRowsOfOnePass(texts, { log, parts, repeats });
      await expectRowsOfOnePass(conversationList, { log, parts, repeats });
      await expectRowsOfOnePass(usage, { log, parts, repeats });
    }),
    { numRuns: 60 },
  );
});

type Interrupted = {
  readonly log: readonly Written[];
  readonly parts: Stretches;
  readonly repeats: readonly number[];
};

async function expectRowsOfOnePass<View>(
  projection: Projection<View>,
  { log, parts, repeats }: Interrupted,
): Promise<void> {
  await using store = createMemoryStore();
  const views = createMemoryViews();
  let written = 0;
  for (const { events, maxEvents } of [...parts, { events: log.length, maxEvents: 5 }]) {
    await write(store, log.slice(written, written + events));
    written += events;
    await createProjector(deliveringTwice(store, repeats), projection, { views, maxEvents }).catchUp();
  }
  const rows = await rowsOf(createProjector(store, projection, { views }));
  expect(rows).toEqual(await rowsFromScratch(store, projection));
  expect(rows.length).toBe(new Set(log.map(({ stream }) => stream)).size);
}

test("a failure before or after any step of the view store loses nothing and counts nothing twice", async () => {
  const [log] = fc.sample(writtenLog, { seed: 1, numRuns: 1 });
  for (const isAfter of [false, true]) {
    for (let at = 1, hasFailed = true; hasFailed; at += 1) {
      await using store = createMemoryStore();
      await write(store, log ?? []);
      const views = createMemoryViews();
      const faulty = failing(views, { at, isAfter });
      const first = createProjector(store, texts, { views: faulty.views, maxEvents: 4 });
      await first.catchUp().catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreUnavailableError);
      });
      hasFailed = faulty.hasFailed();
      await createProjector(store, texts, { views, maxEvents: 4 }).catchUp();
      const rows = await rowsOf(createProjector(store, texts, { views }));
      expect(rows, `failed at step ${at}`).toEqual(await rowsFromScratch(store, texts));
      if (!hasFailed) expect(at).toBeGreaterThan(10);
    }
  }
});

const racers = fc.array(
  fc.record({ maxEvents: fc.integer({ min: 1, max: 5 }), leavesAfter: fc.nat(6), slowness: fc.nat(3) }),
  { minLength: 2, maxLength: 4 },
);

test("several projectors of one view store, some of which leave, disturb each other in nothing but speed", async () => {
  await fc.assert(
    fc.asyncProperty(writtenLog, racers, async (log, each) => {
      await using store = createMemoryStore();
      const { views } = store;
      const last = createProjector(store, texts);
      // What they race for is there before they begin.
      await last.catchUp();
      await write(store, log);
      const races = each.map(async ({ maxEvents, leavesAfter, slowness }) => {
        const left = new AbortController();
        let saves = 0;
        const onProgress = (): void => {
          saves += 1;
          if (saves > leavesAfter) left.abort();
        };
        const projector = createProjector(store, texts, { views: slow(views, slowness), maxEvents });
        await projector.catchUp({ signal: left.signal, onProgress });
      });
      await Promise.all(races);
      await last.catchUp();
      expect(await rowsOf(last)).toEqual(await rowsFromScratch(store, texts));
      expect(await views.builds("texts")).toHaveLength(1);
    }),
    { numRuns: 100 },
  );
});

/** A store whose reads of the log give some events again. */
function deliveringTwice(store: EventStore, repeats: readonly number[]): EventStore {
  async function* again(events: AsyncIterable<StoredEnvelope>): AsyncIterable<StoredEnvelope> {
    const seen: StoredEnvelope[] = [];
    for await (const event of events) {
      seen.push(event);
      yield event;
      yield* seen.slice(-(repeats[seen.length % Math.max(1, repeats.length)] ?? 0) || seen.length);
    }
  }
  return changedStore(store, { readLog: (options) => again(store.readLog(options)) });
}

/** Each step takes its turns of the event loop, before and after. */
const slow = (views: ViewStore, turns: number): ViewStore =>
  surroundedViews(views, async (step) => {
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
    const result = await step();
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
    return result;
  });

function failing(views: ViewStore, { at, isAfter }: { readonly at: number; readonly isAfter: boolean }) {
  let steps = 0;
  const fail = (): never => {
    throw new StoreUnavailableError(`step ${at} fails`);
  };
  return {
    hasFailed: () => steps >= at,
    views: surroundedViews(views, async (step) => {
      steps += 1;
      if (steps === at && !isAfter) fail();
      const result = await step();
      if (steps === at) fail();
      return result;
    }),
  };
}
