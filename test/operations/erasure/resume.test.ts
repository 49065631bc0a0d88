import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { ErasingStore } from "../../../src/log/ports/event-store.ts";
import { erasureOrders, unfinishedErasures } from "../../../src/log/system-streams/erasures.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { createSecrets, foundIn, saySecrets } from "../../support/erasure/secrets.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;

/** A store whose process dies before or after its n-th write of an erasure. */
function dying(store: ErasingStore, at: number, moment: "before" | "after") {
  let writes = 0;
  async function write<T>(work: () => Promise<T>): Promise<T> {
    writes += 1;
    const isDue = writes === at;
    if (isDue && moment === "before") throw new Error("the process died");
    const result = await work();
    if (isDue) throw new Error("the process died");
    return result;
  }
  const events: ErasingStore = {
    ...store,
    [Symbol.asyncDispose]: () => store.close(),
    append: (prepared) => write(() => store.append(prepared)),
    erase: (erasure) => write(() => store.erase(erasure)),
    scrub: (options) => write(() => store.scrub(options)),
  };
  return { events, writes: () => writes };
}

async function isReadable(store: TurnlogStore): Promise<boolean> {
  try {
    return (await store.conversation("gone").turn()).length > 0;
  } catch {
    return false;
  }
}

test("an erasure that dies at any write is reported, can be continued, and ends like one that does not die", async () => {
  const outcomes: string[] = [];
  for (let at = 1, wasReached = true; wasReached; at += 1) {
    for (const moment of ["before", "after"] as const) {
      const { path, file } = temporaryFolder();
      const sqlite = await openSqliteStore(file("turnlog.db"));
      const secrets = createSecrets("gone");
      await saySecrets(new TurnlogStore(sqlite).conversation("gone"), secrets);
      const { events, writes } = dying(sqlite, at, moment);
      const store = new TurnlogStore(events);
      const plan = await store.planErasure({ conversations: ["gone"] });
      const died = await store.erase(plan, why).then(
        () => false,
        () => true,
      );
      wasReached = writes() >= at;
      if (!wasReached) {
        expect(died).toBe(false);
        break;
      }
      const later = new TurnlogStore(sqlite);
      const [order] = await unfinishedErasures(sqlite);
      outcomes.push(
        `${at} ${moment}: ${order === undefined ? "no order" : (await isReadable(later)) ? "ordered" : "erased"}`,
      );
      if (order !== undefined) await later.resumeErasure(order.orderId);
      else if (await isReadable(later)) await later.erase(await later.planErasure({ conversations: ["gone"] }), why);
      expect(await isReadable(later)).toBe(false);
      expect((await later.verify()).problems).toEqual([]);
      expect(await unfinishedErasures(sqlite)).toEqual([]);
      expect(foundIn(path, secrets.all)).toEqual([]);
      await sqlite.close();
    }
  }
  expect(outcomes).toEqual([
    "1 before: no order",
    "1 after: ordered",
    "2 before: ordered",
    "2 after: erased",
    "3 before: erased",
    "3 after: erased",
    "4 before: erased",
    "4 after: no order",
  ]);
});

test("a finished erasure can be continued as well: nothing is done again, and the counts stay", async () => {
  const store = new TurnlogStore(createMemoryStore());
  await saySecrets(store.conversation("gone"), createSecrets("gone"));
  await store.list();
  const first = await store.erase(await store.planErasure({ conversations: ["gone"] }), why);
  const again = await store.resumeErasure(first.orderId);
  expect({ ...again, done: { ...again.done, at: "" } }).toEqual({ ...first, done: { ...first.done, at: "" } });
  const types: string[] = [];
  for await (const { type } of store.events.readStream("conversation-gone")) types.push(type);
  expect(types.filter((type) => type === "ContentErased")).toHaveLength(1);
});

test("of an append and an erasure at once either is in time, and what was acknowledged is never lost unnamed", async () => {
  const { path, file } = temporaryFolder();
  const one = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
  const other = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
  const outcomes = new Set<string>();
  for (let round = 0; round < 12; round += 1) {
    const id = `gone-${round}`;
    await one.conversation(id).append(`secret-of-the-first-${round}`);
    await other.conversation(id).turn();
    const plan = await one.planErasure({ conversations: [id] });
    const append = async () => {
      for (let turns = 0; turns < round; turns += 1) await Promise.resolve();
      return other.conversation(id).append(`secret-of-the-other-${round}`);
    };
    const [appended, erased] = await Promise.allSettled([append(), one.erase(plan, why)]);
    outcomes.add(`${appended.status} ${erased.status}`);
    if (appended.status === "rejected") expect(appended.reason).toMatchObject({ code: "conversation-erased" });
    if (erased.status === "rejected") expect(erased.reason).toMatchObject({ code: "erasure-refused" });
    expect((await other.events.head(`conversation-${id}`))?.revision).toBe(2);
    if (erased.status === "rejected") {
      expect(await unfinishedErasures(one.events)).toEqual([]);
      for await (const { orderId, isRefused } of erasureOrders(one.events))
        if (isRefused) await expect(one.resumeErasure(orderId)).rejects.toMatchObject({ code: "erasure-refused" });
      await one.erase(await one.planErasure({ conversations: [id] }), why);
    }
    await expect(other.conversation(id).append("later")).rejects.toMatchObject({ code: "conversation-erased" });
  }
  expect(outcomes).not.toContain("fulfilled fulfilled");
  expect(outcomes).not.toContain("rejected rejected");
  await one.close();
  await other.close();
  expect(foundIn(path, ["secret-of-the-first", "secret-of-the-other"])).toEqual([]);
});

test("a reader of the file that holds on to an older state keeps the log, which the receipt says", async () => {
  const { path, file } = temporaryFolder();
  const { DatabaseSync } = await import("node:sqlite");
  const store = new TurnlogStore(await openSqliteStore(file("turnlog.db"), { deadlineMs: 100 }));
  const secrets = createSecrets("gone");
  await saySecrets(store.conversation("gone"), secrets);
  const reader = new DatabaseSync(file("turnlog.db"));
  reader.exec("BEGIN; SELECT count(*) FROM events");
  const receipt = await store.erase(await store.planErasure({ conversations: ["gone"] }), why);
  expect(receipt.leftOver.map(({ place }) => place)).toContain("file");
  expect(receipt.done.scrub?.status).toBe("busy");
  reader.exec("COMMIT");
  reader.close();
  const again = await store.resumeErasure(receipt.orderId);
  expect(again.leftOver.map(({ place }) => place)).not.toContain("file");
  expect(foundIn(path, secrets.all)).toEqual([]);
  await store.close();
});

test("an erasure of one text that dies at any write ends like one that does not, and no line is readable after its event", async () => {
  const outcomes: string[] = [];
  for (let at = 1, wasReached = true; wasReached; at += 1) {
    for (const moment of ["before", "after"] as const) {
      const { path, file } = temporaryFolder();
      const sqlite = await openSqliteStore(file("turnlog.db"));
      const secrets = createSecrets("some");
      await saySecrets(new TurnlogStore(sqlite).conversation("some"), secrets);
      const [secret = ""] = secrets.all.slice(-1);
      const { events, writes } = dying(sqlite, at, moment);
      const store = new TurnlogStore(events);
      const plan = await store.planErasure({ texts: [secret.slice(0, 24)] });
      const died = await store.erase(plan, why).then(
        () => false,
        () => true,
      );
      wasReached = writes() >= at;
      const later = new TurnlogStore(sqlite);
      const types = [];
      for await (const { type } of sqlite.readStream("conversation-some")) types.push(type);
      const isThere = (await later.conversation("some").turn()).blocks.some(({ text }) => text === secret);
      expect(isThere).toBe(!types.includes("LinesErased"));
      const [order] = await unfinishedErasures(sqlite);
      if (wasReached)
        outcomes.push(`${at} ${moment}: ${order === undefined ? "no order" : isThere ? "ordered" : "erased"}`);
      else expect(died).toBe(false);
      if (order !== undefined) {
        const receipt = await later.resumeErasure(order.orderId);
        expect([receipt.search, receipt.done.lines > 0]).toEqual(["not-searched", true]);
      } else if (isThere) await later.erase(await later.planErasure({ texts: [secret.slice(0, 24)] }), why);
      expect((await later.verify()).problems).toEqual([]);
      expect(await unfinishedErasures(sqlite)).toEqual([]);
      expect(foundIn(path, [secret])).toEqual([]);
      expect(foundIn(path, secrets.all.slice(0, 3))).toHaveLength(3);
      await sqlite.close();
      if (!wasReached) break;
    }
  }
  expect(outcomes).toEqual([
    "1 before: no order",
    "1 after: ordered",
    "2 before: ordered",
    "2 after: erased",
    "3 before: erased",
    "3 after: erased",
    "4 before: erased",
    "4 after: no order",
  ]);
});
