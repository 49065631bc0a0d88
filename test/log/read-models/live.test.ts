import { firstValueFrom } from "rxjs";
import { describe, expect, onTestFinished, test } from "vitest";
import { StoreClosedError, StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import type { ViewStore } from "../../../src/log/ports/view-store.ts";
import type { ProjectedView } from "../../../src/log/read-models/projected-view.ts";
import { createProjector, type Projector } from "../../../src/log/read-models/projector.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { changedStore, rowsFromScratch, rowsOf, texts } from "../../support/read-models/rows.ts";
import { surroundedViews } from "../../support/read-models/surrounded-views.ts";
import { said, started, stream, write } from "../../support/read-models/written-log.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { freshStore, storeKinds } from "../../support/workshop.ts";

const key = stream("left1");
type Texts = { readonly texts: readonly string[] };

/** Runs until the test has finished; it is live when this resolves. */
async function running<View>(projector: Projector<View>): Promise<{ readonly stop: () => Promise<void> }> {
  const left = new AbortController();
  const run = projector.run(left.signal);
  const stop = async (): Promise<void> => {
    left.abort();
    await run;
  };
  onTestFinished(stop);
  await expect.poll(async () => (await projector.status()).state).toBe("live");
  // It is asleep once everything that was ready has run.
  await new Promise(setImmediate);
  return { stop };
}

describe.each(storeKinds)("on a %s store", (kind) => {
  test("a live event reaches a subscriber within one turn of the event loop after its append resolved", async () => {
    const store = await freshStore(kind);
    onTestFinished(() => store.close());
    await write(store, [started("left1")]);
    const projector = createProjector(store, texts);
    await running(projector);
    const seen: number[] = [];
    projector.view$(key).subscribe(({ view }) => seen.push(view.texts.length));
    await expect.poll(() => seen).toEqual([1]);
    for (const count of [2, 3, 4, 5]) {
      await write(store, [said("left1", `text ${count}`)]);
      await new Promise(setImmediate);
      expect(seen.at(-1)).toBe(count);
    }
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  test("saves what came, and nothing twice, when it is stopped", async () => {
    const store = await freshStore(kind);
    onTestFinished(() => store.close());
    const projector = createProjector(store, texts, { saveWithinMs: 1_000_000 });
    const { stop } = await running(projector);
    await write(store, [started("left1"), said("left1")]);
    await new Promise(setImmediate);
    expect(await projector.status()).toMatchObject({ state: "live", behind: 2 });
    await stop();
    expect(await projector.status()).toMatchObject({ state: "idle", behind: 0, events: 2 });
    expect(await rowsOf(projector)).toEqual(await rowsFromScratch(store, texts));
  });
});

test("reports many events that arrive together once", async () => {
  await using store = createMemoryStore();
  const projector = createProjector(store, texts);
  await running(projector);
  const seen: ProjectedView<Texts>[] = [];
  projector.view$(key).subscribe((view) => seen.push(view));
  // The memory store answers appends at once: all of this happens in one turn of the event loop.
  await write(store, [started("left1"), ...Array.from({ length: 500 }, () => said("left1"))]);
  await new Promise(setImmediate);
  expect(seen.at(-1)?.view.texts.length).toBe(501);
  expect(seen.length).toBeLessThan(10);
  expect(seen[0]?.view.texts.length, "what was given is not changed any more").toBeLessThanOrEqual(501);
});

test("gives the latest view to those who come late, before, while and after it runs", async () => {
  await using store = createMemoryStore();
  await write(store, [started("left1"), said("left1")]);
  const projector = createProjector(store, texts);
  await projector.catchUp();
  expect((await firstValueFrom(projector.view$(key))).view.texts).toHaveLength(2);
  const { stop } = await running(projector);
  await write(store, [said("left1")]);
  await new Promise(setImmediate);
  const first = projector.view$(key).subscribe();
  expect((await firstValueFrom(projector.view$(key))).view.texts).toHaveLength(3);
  first.unsubscribe();
  await stop();
  expect((await firstValueFrom(projector.view$(key))).view.texts).toHaveLength(3);
});

test("a reader who takes his time gets the final view, and few on the way", async () => {
  await using store = createMemoryStore();
  const projector = createProjector(store, texts);
  const { stop } = await running(projector);
  await write(store, [started("left1")]);
  const seen: number[] = [];
  for await (const { view } of projector.follow(key)) {
    seen.push(view.texts.length);
    if (seen.length > 1) break;
    for (let round = 0; round < 100; round += 1) {
      await write(store, [said("left1"), said("left1")]);
      await new Promise(setImmediate);
    }
  }
  expect(seen).toEqual([1, 201]);
  await stop();
  const left = new AbortController();
  for await (const { view } of projector.follow(key, left.signal)) {
    seen.push(view.texts.length);
    left.abort();
  }
  expect(seen).toEqual([1, 201, 201]);
});

test("ends without an error when the store is closed", async () => {
  const store = createMemoryStore();
  const projector = createProjector(store, texts, { saveWithinMs: 1_000_000 });
  const run = projector.run(new AbortController().signal);
  await expect.poll(async () => (await projector.status()).state).toBe("live");
  await write(store, [started("left1")]);
  await store.close();
  await run;
  await expect(projector.catchUp()).rejects.toThrow(StoreClosedError);
});

test("observers complete when the projector ends", async () => {
  await using store = createMemoryStore();
  const projector = createProjector(store, texts);
  const { stop } = await running(projector);
  let isComplete = false;
  projector.view$(key).subscribe({ complete: () => (isComplete = true) });
  await stop();
  expect(isComplete).toBe(true);
});

test("follows a sqlite store that somebody else writes to", async () => {
  const path = temporaryFolder().file("store.db");
  await using reader = await openSqliteStore(path, { pollMs: 5 });
  await using writer = await openSqliteStore(path);
  const projector = createProjector(reader, texts, { saveWithinMs: 0 });
  await running(projector);
  for (let round = 1; round <= 20; round += 1) {
    await write(writer, [round === 1 ? started("left1") : said("left1")]);
    await expect.poll(async () => (await projector.read(key))?.view.texts.length, { interval: 5 }).toBe(round);
  }
  expect(await rowsOf(projector)).toEqual(await rowsFromScratch(writer, texts));
});

test("goes on by itself when the store was unavailable", async () => {
  await using store = createMemoryStore();
  await write(store, [started("left1")]);
  let failures = 3;
  const pauses: number[] = [];
  async function* unavailable<T>(events: AsyncIterable<T>): AsyncIterable<T> {
    failures -= 1;
    if (failures >= 0) throw new StoreUnavailableError("gone for a moment");
    yield* events;
  }
  const flaky = changedStore(store, { subscribe: (options) => unavailable(store.subscribe(options)) });
  const projector = createProjector(flaky, texts, {
    saveWithinMs: 0,
    pause: async (attempt) => void pauses.push(attempt),
  });
  await running(projector);
  await write(store, [said("left1")]);
  await expect.poll(async () => (await projector.read(key))?.view.texts.length).toBe(2);
  expect(pauses).toEqual([1, 1, 1]);
});

test("goes on by itself when events and rows were unavailable at once", async () => {
  await using store = createMemoryStore();
  let isDown = false;
  const mustBeUp = (): void => {
    if (isDown) throw new StoreUnavailableError("gone for a moment");
  };
  async function* whileUp<T>(events: AsyncIterable<T>): AsyncIterable<T> {
    for await (const event of events) {
      yield event;
      mustBeUp();
    }
  }
  const views: ViewStore = {
    ...surroundedViews(store.views, (step) => step()),
    save: async (build, batch) => {
      mustBeUp();
      return store.views.save(build, batch);
    },
  };
  const flaky = changedStore(store, { subscribe: (options) => whileUp(store.subscribe(options)) });
  const pause = async (): Promise<void> => {
    isDown = false;
  };
  const projector = createProjector(flaky, texts, { views, maxEvents: 1, pause });
  await running(projector);
  isDown = true;
  await write(store, [started("left1")]);
  await expect.poll(async () => (await projector.read(key))?.view.texts.length).toBe(1);
});

test("reads no further than one batch while a save is under way", async () => {
  await using store = createMemoryStore();
  await write(store, [started("left1"), ...Array.from({ length: 20 }, () => said("left1"))]);
  let read = 0;
  async function* counted<T>(events: AsyncIterable<T>): AsyncIterable<T> {
    for await (const event of events) {
      read += 1;
      yield event;
    }
  }
  const gate = Promise.withResolvers<undefined>();
  const views: ViewStore = {
    ...surroundedViews(store.views, (step) => step()),
    save: async (build, batch) => {
      await gate.promise;
      return store.views.save(build, batch);
    },
  };
  const counting = changedStore(store, { readLog: (options) => counted(store.readLog(options)) });
  const caughtUp = createProjector(counting, texts, { views, maxEvents: 5 }).catchUp();
  await new Promise(setImmediate);
  expect(read).toBe(5);
  gate.resolve(undefined);
  await caughtUp;
  expect(read).toBe(21);
});

test("says so when there is no place for rows", async () => {
  await using store = createMemoryStore();
  const { views: _, ...bare } = store;
  expect(() => createProjector({ ...bare, [Symbol.asyncDispose]: () => store.close() }, texts)).toThrow(
    expect.objectContaining({ code: "no-views" }),
  );
});

test("counts what it is behind", async () => {
  await using store = createMemoryStore();
  await write(store, [started("left1"), said("left1")]);
  const projector = createProjector(store, texts);
  expect(await projector.status()).toEqual({
    ...{ name: "texts", version: 1, state: "idle", builtVersion: null, events: 0, behind: 2 },
    ...{ degraded: 0, quarantined: 0 },
  });
  await projector.catchUp();
  expect(await projector.status()).toMatchObject({ builtVersion: 1, events: 2, behind: 0 });
});
