import assert from "node:assert/strict";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { SnapshotStore } from "../../log/ports/snapshot-store.ts";
import { StoreClosedError } from "../../log/ports/store-errors.ts";

import { type Check, checksOf } from "./check.ts";

/** The subject of the checks. */
export type StoreWithSnapshots = EventStore & { readonly snapshots: SnapshotStore };

/** The promises of every store that keeps snapshots; use it like `eventStoreChecks`. */
export const snapshotStoreChecks = (create: () => StoreWithSnapshots | Promise<StoreWithSnapshots>): readonly Check[] =>
  checksOf(create, (check) => {
    check("gives the newest snapshot at or before a revision", async (store) => {
      for (const revision of [100, 9, 20]) await store.snapshots.put(key, { revision, data: `at ${revision}` });
      assert.equal(await store.snapshots.get(key, 8), null);
      assert.deepEqual(await store.snapshots.get(key, 9), { revision: 9, data: "at 9" });
      assert.deepEqual(await store.snapshots.get(key, 99), { revision: 20, data: "at 20" });
      assert.deepEqual(await store.snapshots.get(key, 1_000), { revision: 100, data: "at 100" });
    });

    check("keeps streams, projections and versions apart", async (store) => {
      await store.snapshots.put(key, { revision: 1, data: "x" });
      assert.equal(await store.snapshots.get({ ...key, stream: "conversation-2" }, 9), null);
      assert.equal(await store.snapshots.get({ ...key, projection: "usage" }, 9), null);
      assert.equal(await store.snapshots.get({ ...key, version: 2 }, 9), null);
    });

    check("replaces a snapshot of the same revision", async (store) => {
      await store.snapshots.put(key, { revision: 1, data: "old" });
      await store.snapshots.put(key, { revision: 1, data: "new" });
      assert.deepEqual(await store.snapshots.get(key, 1), { revision: 1, data: "new" });
    });

    check("forgets all of them at once", async (store) => {
      await store.snapshots.put(key, { revision: 1, data: "x" });
      await store.snapshots.deleteAll();
      assert.equal(await store.snapshots.get(key, 9), null);
    });

    check("throws StoreClosedError after close", async (store) => {
      await store.close();
      await assert.rejects(store.snapshots.get(key, 1), StoreClosedError);
      await assert.rejects(store.snapshots.put(key, { revision: 1, data: "x" }), StoreClosedError);
      await assert.rejects(store.snapshots.deleteAll(), StoreClosedError);
    });
  });

const key = { stream: "conversation-1", projection: "turn", version: 1 };
