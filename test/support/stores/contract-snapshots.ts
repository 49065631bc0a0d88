import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EventStore, StoreClosedError } from "../../../src/log/ports/event-store.ts";
import type { SnapshotStore } from "../../../src/log/ports/snapshot-store.ts";

type StoreWithSnapshots = EventStore & { readonly snapshots: SnapshotStore };

/** What every store that keeps snapshots does. */
export function describeSnapshots(name: string, create: () => Promise<StoreWithSnapshots>): void {
  describe(`${name} as a snapshot store`, () => {
    const key = { stream: "conversation-1", projection: "turn", version: 1 };
    let store: StoreWithSnapshots;
    beforeEach(async () => {
      store = await create();
    });
    afterEach(() => store.close());

    test("gives the newest snapshot at or before a revision", async () => {
      for (const revision of [100, 9, 20]) await store.snapshots.put(key, { revision, data: `at ${revision}` });
      expect(await store.snapshots.get(key, 8)).toBeNull();
      expect(await store.snapshots.get(key, 9)).toEqual({ revision: 9, data: "at 9" });
      expect(await store.snapshots.get(key, 99)).toEqual({ revision: 20, data: "at 20" });
      expect(await store.snapshots.get(key, 1_000)).toEqual({ revision: 100, data: "at 100" });
    });

    test("keeps streams, projections and versions apart", async () => {
      await store.snapshots.put(key, { revision: 1, data: "x" });
      expect(await store.snapshots.get({ ...key, stream: "conversation-2" }, 9)).toBeNull();
      expect(await store.snapshots.get({ ...key, projection: "usage" }, 9)).toBeNull();
      expect(await store.snapshots.get({ ...key, version: 2 }, 9)).toBeNull();
    });

    test("replaces a snapshot of the same revision", async () => {
      await store.snapshots.put(key, { revision: 1, data: "old" });
      await store.snapshots.put(key, { revision: 1, data: "new" });
      expect(await store.snapshots.get(key, 1)).toEqual({ revision: 1, data: "new" });
    });

    test("forgets all of them at once", async () => {
      await store.snapshots.put(key, { revision: 1, data: "x" });
      await store.snapshots.deleteAll();
      expect(await store.snapshots.get(key, 9)).toBeNull();
    });

    test("throws StoreClosedError after close", async () => {
      await store.close();
      await expect(store.snapshots.get(key, 1)).rejects.toThrow(StoreClosedError);
      await expect(store.snapshots.put(key, { revision: 1, data: "x" })).rejects.toThrow(StoreClosedError);
      await expect(store.snapshots.deleteAll()).rejects.toThrow(StoreClosedError);
    });
  });
}
