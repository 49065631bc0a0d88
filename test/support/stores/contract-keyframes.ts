import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EventStore, StoreClosedError } from "../../../src/log/ports/event-store.ts";
import type { KeyframeStore } from "../../../src/log/ports/snapshot-store.ts";

type StoreWithKeyframes = EventStore & { readonly keyframes: KeyframeStore };

/** What every store that keeps keyframes does. */
export function describeKeyframes(name: string, create: () => Promise<StoreWithKeyframes>): void {
  describe(`${name} as a keyframe store`, () => {
    const key = { stream: "conversation-1", projection: "turn", version: 1 };
    let store: StoreWithKeyframes;
    beforeEach(async () => {
      store = await create();
    });
    afterEach(() => store.close());

    test("gives the newest keyframe at or before a revision", async () => {
      for (const revision of [100, 9, 20]) await store.keyframes.put(key, { revision, data: `at ${revision}` });
      expect(await store.keyframes.get(key, 8)).toBeNull();
      expect(await store.keyframes.get(key, 9)).toEqual({ revision: 9, data: "at 9" });
      expect(await store.keyframes.get(key, 99)).toEqual({ revision: 20, data: "at 20" });
      expect(await store.keyframes.get(key, 1_000)).toEqual({ revision: 100, data: "at 100" });
    });

    test("keeps streams, projections and versions apart", async () => {
      await store.keyframes.put(key, { revision: 1, data: "x" });
      expect(await store.keyframes.get({ ...key, stream: "conversation-2" }, 9)).toBeNull();
      expect(await store.keyframes.get({ ...key, projection: "usage" }, 9)).toBeNull();
      expect(await store.keyframes.get({ ...key, version: 2 }, 9)).toBeNull();
    });

    test("replaces a keyframe of the same revision", async () => {
      await store.keyframes.put(key, { revision: 1, data: "old" });
      await store.keyframes.put(key, { revision: 1, data: "new" });
      expect(await store.keyframes.get(key, 1)).toEqual({ revision: 1, data: "new" });
    });

    test("forgets all of them at once", async () => {
      await store.keyframes.put(key, { revision: 1, data: "x" });
      await store.keyframes.deleteAll();
      expect(await store.keyframes.get(key, 9)).toBeNull();
    });

    test("throws StoreClosedError after close", async () => {
      await store.close();
      await expect(store.keyframes.get(key, 1)).rejects.toThrow(StoreClosedError);
      await expect(store.keyframes.put(key, { revision: 1, data: "x" })).rejects.toThrow(StoreClosedError);
      await expect(store.keyframes.deleteAll()).rejects.toThrow(StoreClosedError);
    });
  });
}
