import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { ErasingStore } from "../../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { erasureOrders, unfinishedErasures } from "../../../src/log/system-streams/erasures.ts";
import { erasureReceiptSchema } from "../../../src/operations/erasure/receipt.ts";
import { storeError } from "../../../src/stores/sqlite/errors.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { foundIn } from "../../support/erasure/secrets.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;
const secret = "My number is 555-0199, and that is all.";

/** What SQLite throws once the disk is full. */
const fullDisk = (path: string) =>
  storeError(Object.assign(new Error("database or disk is full"), { errcode: 13 }), path);

/** A file of an older turnlog, which deleted without overwriting: an erasure has to rewrite it as a whole. */
async function oldFile() {
  const { path, file } = temporaryFolder();
  const at = file("turnlog.db");
  const store = new TurnlogStore(await openSqliteStore(at));
  await store.conversation("talk").append([secret, "And more."]);
  await store.close();
  const raw = new DatabaseSync(at);
  raw.exec("DELETE FROM meta WHERE name = 'secureDelete'");
  raw.close();
  return { path, at };
}

for (const [what, target] of [
  ["a text", { texts: [secret] }],
  ["a conversation", { conversations: ["talk"] }],
] as const)
  test.each(["erase", "scrub"] as const)(
    `an erasure of ${what} during whose %s the disk is full names its order, and can be continued`,
    async (step) => {
      const { path, at } = await oldFile();
      const events = await openSqliteStore(at);
      let isFull = false;
      async function unlessFull<T>(each: typeof step, work: () => Promise<T>): Promise<T> {
        if (isFull && each === step) throw fullDisk(at);
        return work();
      }
      const full: ErasingStore = {
        ...events,
        [Symbol.asyncDispose]: () => events.close(),
        erase: (erasure) => unlessFull("erase", () => events.erase(erasure)),
        scrub: (options) => unlessFull("scrub", () => events.scrub(options)),
      };
      const store = new TurnlogStore(full);
      const plan = await store.planErasure(target);
      isFull = true;
      const error: unknown = await store.erase(plan, why).catch((failure: unknown) => failure);
      const [order] = await unfinishedErasures(events);
      const message = error instanceof StoreUnavailableError ? error.message : "";
      expect(message).toContain("the disk is full: free some space");
      expect(message).toContain(`turnlog erase --resume ${order?.orderId}`);
      await events.close();
      const { code, stdout } = await turnlogHere(["erase", "--resume", order?.orderId ?? "", "--json"], { cwd: path });
      expect([code, stdout]).toEqual([0, expect.stringContaining('"finished":true')]);
      expect(foundIn(path, [secret])).toEqual([]);
      await using again = new TurnlogStore(await openSqliteStore(at));
      for await (const each of erasureOrders(again.events))
        expect(erasureReceiptSchema.parse(each.receipt).done.scrub?.status).toBe("done");
      expect((await again.verify()).problems).toEqual([]);
    },
  );

test("a rewrite of the file that the disk had no room for is made when the erasure is continued, and not once more after that", async () => {
  const { path, file } = temporaryFolder();
  const at = file("turnlog.db");
  const events = await openSqliteStore(at);
  const forced: boolean[] = [];
  let isFull = true;
  const full: ErasingStore = {
    ...events,
    [Symbol.asyncDispose]: () => events.close(),
    async scrub(options = {}) {
      forced.push(options.force === true);
      if (isFull) throw fullDisk(at);
      return events.scrub(options);
    },
  };
  const store = new TurnlogStore(full);
  await store.conversation("talk").append([secret, "And more."]);
  const plan = await store.planErasure({ texts: [secret] });
  await expect(store.erase(plan, { ...why, vacuum: true })).rejects.toThrow("turnlog erase --resume");
  const [order] = await unfinishedErasures(events);
  const orderId = order?.orderId ?? "";
  isFull = false;
  const receipts = [await store.resumeErasure(orderId), await store.resumeErasure(orderId)];
  expect(receipts.map(({ done }) => done.scrub)).toEqual(Array(2).fill({ status: "done", isRewritten: true }));
  expect(forced).toEqual([true, true, false]);
  const other = await store.erase(await store.planErasure({ texts: ["And more."] }), why);
  await store.resumeErasure(other.orderId);
  expect(forced.slice(3)).toEqual([false, false]);
  await events.close();
  expect(foundIn(path, [secret])).toEqual([]);
});
