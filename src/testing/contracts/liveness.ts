import assert from "node:assert/strict";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { Liveness } from "../../log/ports/liveness.ts";
import { StoreClosedError } from "../../log/ports/store-errors.ts";
import { type Check, checksOf } from "./check.ts";

/** The subject of the checks. */
export type StoreWithLiveness = EventStore & { readonly liveness: Liveness };

/**
 * The promises of every store with liveness; use it like `eventStoreChecks`. `openAgain` opens another object on the same
 * store, as another process would.
 */
export const livenessChecks = <Store extends StoreWithLiveness>(
  create: () => Store | Promise<Store>,
  openAgain: (store: Store) => Promise<StoreWithLiveness>,
): readonly Check[] =>
  checksOf(create, (check) => {
    check("holds one lease, which is alive, and has the same id every time", async ({ liveness }) => {
      const held = await Promise.all([liveness.hold(), liveness.hold()]);
      assert.equal(held[0], held[1]);
      assert.equal(await liveness.hold(), held[0]);
      assert.equal(await liveness.isAlive(held[0] ?? ""), true);
    });

    check("knows no lease that was never held", async ({ liveness }) => {
      const held = await liveness.hold();
      for (const never of ["", "lse_V1StGXR8Z5jdHi6B", "../other", `${held}0`])
        assert.equal(await liveness.isAlive(never), false);
    });

    check("throws StoreClosedError after close", async (store) => {
      const held = (await store.liveness.hold()) ?? "";
      await store.close();
      await assert.rejects(store.liveness.hold(), StoreClosedError);
      await assert.rejects(store.liveness.isAlive(held), StoreClosedError);
    });

    check("tells another object of a lease, which holds one of its own", async (store) => {
      const held = (await store.liveness.hold()) ?? "";
      await using other = await openAgain(store);
      const own = (await other.liveness.hold()) ?? "";
      assert.notEqual(own, held);
      for (const each of [store, other])
        for (const id of [held, own]) assert.equal(await each.liveness.isAlive(id), true);
    });

    check("tells at once that a holder closed its store", async (store) => {
      const other = await openAgain(store);
      const held = (await other.liveness.hold()) ?? "";
      assert.equal(await store.liveness.isAlive(held), true);
      await other.close();
      for (let times = 0; times < 2; times += 1) assert.equal(await store.liveness.isAlive(held), false);
    });

    check("keeps a lease alive whatever others ask, open and close", async (store) => {
      const held = (await store.liveness.hold()) ?? "";
      for (let times = 0; times < 3; times += 1) {
        await using other = await openAgain(store);
        await other.liveness.hold();
        assert.equal(await other.liveness.isAlive(held), true);
      }
      await using last = await openAgain(store);
      assert.equal(await last.liveness.isAlive(held), true);
    });

    check("waits for no more than it has to, and only as long as it may", async (store) => {
      const { liveness } = store;
      // A store whose `isAlive` always knows needs no wait.
      if (liveness.whenKnown === undefined) return;
      const whenKnown = liveness.whenKnown.bind(liveness);
      const other = await openAgain(store);
      const held = (await other.liveness.hold()) ?? "";
      assert.equal(await whenKnown((await liveness.hold()) ?? ""), true);
      const reason = new Error("the caller has waited enough");
      const waiting = new AbortController();
      const known = assert.rejects(whenKnown(held, waiting.signal), reason);
      waiting.abort(reason);
      await known;
      await other.close();
      for (const gone of [held, "lse_V1StGXR8Z5jdHi6B"]) assert.equal(await whenKnown(gone), false);
    });
  });
