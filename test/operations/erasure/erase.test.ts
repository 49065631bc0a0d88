import { expect, test } from "vitest";
import * as z from "zod";
import { openStore } from "../../../src/conversation/open-store.ts";
import { readModels } from "../../../src/conversation/read-models.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { authorizedStore } from "../../../src/log/access/authorized-store.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { unfinishedErasures } from "../../../src/log/system-streams/erasures.ts";
import { exportsOf, recordExport } from "../../../src/log/system-streams/exports.ts";
import { verification } from "../../../src/operations/audit/verify.ts";
import { erasureReceiptSchema } from "../../../src/operations/erasure/receipt.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { createSecrets, foundIn, saySecrets } from "../../support/erasure/secrets.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { rejectionOf } from "../../support/workshop.ts";

const why = { by: "dpo", ground: "gdpr-17", ticket: "T-204" } as const;

const kinds = {
  memory: async () => createMemoryStore(),
  sqlite: () => openSqliteStore(temporaryFolder().file("turnlog.db")),
} as const;

/** Two conversations that hold secrets, snapshots and rows of both. */
async function filled(events: EventStore) {
  const store = new TurnlogStore(events);
  const said = { gone: createSecrets("gone"), kept: createSecrets("kept") };
  for (const id of ["gone", "kept"] as const) {
    await saySecrets(store.conversation(id), said[id]);
    await takeSnapshots(events, `conversation-${id}`, { events: 4, edits: 3 });
  }
  await store.list();
  await store.search("key");
  return { store, said };
}

const eraseAll = async (store: TurnlogStore, ...conversations: readonly string[]) =>
  store.erase(await store.planErasure({ conversations }), why);

test("nothing that was said in an erased conversation is left in any file, and all of the others is", async () => {
  const { path, file } = temporaryFolder();
  const { store, said } = await filled(await openSqliteStore(file("turnlog.db")));
  expect(said.gone.all.length).toBeGreaterThan(15);
  const findable = foundIn(path, said.gone.all);
  expect(findable.length).toBe(said.gone.all.length);
  const receipt = await eraseAll(store, "gone");
  expect(foundIn(path, said.gone.all)).toEqual([]);
  expect(foundIn(path, said.kept.all)).toEqual(said.kept.all);
  await store.close();
  expect(foundIn(path, said.gone.all)).toEqual([]);
  // The scripted model says that it stores what it answers.
  expect(receipt).toMatchObject({ leftOver: [{ place: "provider" }], done: { scrub: { status: "done" } } });
  expect(receipt.done.blobEvents).toBeGreaterThan(0);
  expect(receipt.done.snapshots).toBeGreaterThan(0);
  expect(receipt.done.rows).toBe(2);
});

test("an erasure that leaves out a step is found by the same search", async () => {
  for (const left of ["scrub", "removed", "rows"] as const) {
    const { path, file } = temporaryFolder();
    const events = await openSqliteStore(file("turnlog.db"));
    const lazy: EventStore = {
      ...events,
      [Symbol.asyncDispose]: () => events.close(),
      erase: (erasure) => events.erase({ ...erasure, ...(left === "scrub" ? {} : { [left]: [] }) }),
      scrub: async () => (left === "scrub" ? { status: "done", isRewritten: false } : events.scrub()),
    };
    const { store, said } = await filled(lazy);
    await eraseAll(store, "gone");
    expect([left, foundIn(path, said.gone.all).length > 0]).toEqual([left, true]);
  }
});

test("a file that an older turnlog wrote without overwriting is written anew", async () => {
  const { path, file } = temporaryFolder();
  const { DatabaseSync } = await import("node:sqlite");
  const { store, said } = await filled(await openSqliteStore(file("turnlog.db")));
  await store.close();
  const old = new DatabaseSync(file("turnlog.db"));
  old.exec("DELETE FROM meta WHERE name = 'secureDelete'");
  old.close();
  await using again = await openStore(`sqlite:${file("turnlog.db")}`);
  const receipt = await eraseAll(again, "gone");
  expect(receipt.done.scrub).toEqual({ status: "done", isRewritten: true });
  expect(foundIn(path, said.gone.all)).toEqual([]);
});

for (const [kind, open] of Object.entries(kinds)) {
  test(`${kind}: an erased conversation cannot be read, written, forked or found, and its neighbour is as it was`, async () => {
    const { store, said } = await filled(await open());
    const turn = (await store.conversation("kept").turn()).digest;
    const held = store.conversation("gone");
    await held.turn();
    await eraseAll(store, "gone");
    const gone = { code: "conversation-erased" };
    for (const conversation of [held, new TurnlogStore(store.events).conversation("gone")]) {
      await expect(conversation.turn()).rejects.toMatchObject(gone);
      await expect(conversation.append("again")).rejects.toMatchObject(gone);
      await expect(conversation.append(said.gone.all.at(-2) ?? "", { key: "again" })).rejects.toMatchObject(gone);
      await expect(conversation.run(createEngine({ provider: scripted(["no"]) }))).rejects.toMatchObject(gone);
      await expect(conversation.fork()).rejects.toMatchObject(gone);
      await expect(rejectionOf(readAll(conversation.events()))).resolves.toMatchObject(gone);
    }
    expect((await store.list()).conversations.map(({ id }) => id)).toEqual(["kept"]);
    expect((await store.search("key-gone-00000-x")).hits).toEqual([]);
    expect((await store.search("key-kept-00000-x")).hits.length).toBeGreaterThan(0);
    expect((await store.conversation("kept").turn()).digest).toBe(turn);
    const verified = await store.verify();
    expect(verified.problems).toEqual([]);
  });

  test(`${kind}: heads that were saved before an erasure still hold`, async () => {
    const { store } = await filled(await open());
    const { heads: savedHeads } = await store.verify();
    await eraseAll(store, "gone");
    expect((await store.verify({ savedHeads })).problems).toEqual([]);
    const head = savedHeads.get("conversation-gone");
    const forged = new Map([["conversation-gone", { revision: head?.revision ?? 0, digest: "0".repeat(64) }]]);
    expect((await store.verify({ savedHeads: forged })).problems).toMatchObject([{ kind: "head" }]);
  });

  test(`${kind}: rows of other conversations are not made again`, async () => {
    const { store } = await filled(await open());
    const status = async () => Promise.all(readModels(store.events).map((model) => model.status()));
    const before = await store.events.views?.builds("conversation-list");
    await eraseAll(store, "gone");
    await store.list();
    const after = await store.events.views?.builds("conversation-list");
    expect(after?.map(({ id }) => id)).toEqual(before?.map(({ id }) => id));
    expect((await status()).map(({ behind }) => behind)[0]).toBe(0);
    for (const model of readModels(store.events)) await model.rebuild();
    expect((await store.list()).conversations.map(({ id }) => id)).toEqual(["kept"]);
    expect((await store.verify()).problems).toEqual([]);
  });
}

async function readAll(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events);
}

test("what cannot be erased is refused by name, and nothing changes", async () => {
  const store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation("one");
  await conversation.append("hello");
  await expect(store.planErasure({ conversations: ["none"] })).rejects.toMatchObject({ code: "not-found" });
  const fork = await conversation.fork(-1, { id: "branch" });
  await fork.append("more");
  const refused = { code: "erasure-refused" };
  const inherited = await rejectionOf(store.planErasure({ conversations: ["one"] }));
  expect(inherited).toMatchObject(refused);
  expect(inherited).toHaveProperty("message", expect.stringContaining("branch is a fork of one"));
  const plan = await store.planErasure({ conversations: ["one", "branch"] });
  await conversation.append("meanwhile");
  const moved = await rejectionOf(store.erase(plan, why));
  expect(moved).toMatchObject(refused);
  expect(moved).toHaveProperty("message", expect.stringContaining("plan again"));
  expect((await conversation.turn()).length).toBe(2);
  for (const by of ["Ann Smith", "", "x".repeat(65)])
    await expect(store.erase(plan, { ...why, by })).rejects.toThrow(/erase: by is .*: give a code/);
  const receipt = await eraseAll(store, "one", "branch");
  expect(receipt.conversations.map(({ id }) => id)).toEqual(["one", "branch"]);
  await expect(store.planErasure({ conversations: ["one"] })).rejects.toMatchObject({ code: "conversation-erased" });
  await expect(store.resumeErasure("era_none")).rejects.toMatchObject({ code: "erasure-not-found" });
});

test("a fork that began after the plan is not bereft of what it inherits, and a misspelt plan is refused", async () => {
  const store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation("one");
  await conversation.append("hello");
  const plan = await store.planErasure({ conversations: ["one"] });
  const fork = await conversation.fork(-1, { id: "branch" });
  await expect(store.erase(plan, why)).rejects.toMatchObject({ code: "erasure-refused" });
  expect((await fork.turn()).length).toBe(1);
  expect(await unfinishedErasures(store.events)).toEqual([]);
  await expect(store.planErasure({ conversations: [] })).rejects.toMatchObject({ code: "erasure-refused" });
  const misspelt = { conversation: "one" } as unknown as Parameters<TurnlogStore["planErasure"]>[0];
  await expect(store.planErasure(misspelt)).rejects.toThrow(/planErasure has no option 'conversation'/);
});

test("a run that is open keeps its conversation, and one that was ended by hand does not", async () => {
  const store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation("one");
  await conversation.append("hello");
  const gate = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<null>();
  const slow = tool({
    ...{ name: "slow", description: "waits", inputSchema: z.object({}) },
    execute: () => {
      begun.resolve(null);
      return gate.promise;
    },
  });
  const provider = scripted([{ calls: [{ name: "slow", arguments: {} }] }, "done"]);
  const running = conversation.run(createEngine({ provider, tools: [slow] }));
  await begun.promise;
  await expect(store.planErasure({ conversations: ["one"] })).rejects.toMatchObject({ code: "erasure-refused" });
  gate.resolve("late");
  await running;
  const failing = createEngine({ provider: scripted([]) });
  await conversation.append("once more");
  await conversation.run(failing).catch(() => undefined);
  expect((await eraseAll(store, "one")).conversations).toHaveLength(1);
});

test("a store that takes nothing out, and one behind a hook that does not know of erasing, refuse", async () => {
  const events = createMemoryStore();
  await new TurnlogStore(events).conversation("one").append("hello");
  const without: EventStore = { ...events, [Symbol.asyncDispose]: () => events.close() };
  Reflect.deleteProperty(without, "erase");
  const guarded = authorizedStore(events, () => true);
  for (const closed of [without, guarded])
    await expect(new TurnlogStore(closed).planErasure({ conversations: ["one"] })).rejects.toMatchObject({
      code: "store-cannot-erase",
    });
});

test("a damaged conversation is erased by its place, and nothing of it is decoded", async () => {
  const { file } = temporaryFolder();
  const { store } = await filled(await openSqliteStore(file("turnlog.db")));
  await store.close();
  const { DatabaseSync } = await import("node:sqlite");
  const raw = new DatabaseSync(file("turnlog.db"));
  raw.exec(
    "UPDATE events SET data = 'no json' WHERE revision = 3 AND stream = (SELECT number FROM streams WHERE name = 'conversation-gone')",
  );
  raw.close();
  await using again = await openStore(`sqlite:${file("turnlog.db")}`);
  const receipt = await eraseAll(again, "gone");
  expect(receipt).toMatchObject({ finished: false, leftOver: [{ place: "provider" }] });
  expect((await again.verify()).problems).toEqual([]);
});

test("what left the store before, what servers store and rows of other projections are left over, and said so", async () => {
  const events = createMemoryStore();
  const store = new TurnlogStore(events);
  const conversation = store.conversation("one");
  await conversation.append("hello");
  await conversation.run(createEngine({ provider: scripted(["hi"]) }));
  const made = { kind: "bundle", isRedacted: false, sha256: "0".repeat(64), storeId: null } as const;
  await recordExport(store.log, { ...made, conversations: [store.conversation("one").id] });
  await recordExport(store.log, { ...made, conversations: [store.conversation("other").id] });
  await events.views.begin("my-rows", 1);
  const receipt = await eraseAll(store, "one");
  expect(receipt.finished).toBe(false);
  expect(receipt.leftOver.map(({ place }) => place)).toEqual(["provider", "rows", "copies"]);
  expect(receipt.exports).toMatchObject([{ kind: "bundle", conversations: ["one"] }]);
  expect(await exportsOf(events, new Set())).toEqual([]);
  expect(erasureReceiptSchema.parse(receipt)).toEqual(receipt);
});

test("verification names what is empty without an order, what an order left, and what follows an end", async () => {
  const problemsOf = async (change: (sql: (text: string) => void) => void) => {
    const { file } = temporaryFolder();
    const { store } = await filled(await openSqliteStore(file("turnlog.db")));
    await eraseAll(store, "gone");
    await store.close();
    const { DatabaseSync } = await import("node:sqlite");
    const raw = new DatabaseSync(file("turnlog.db"));
    change((text) =>
      raw.exec(text.replace(/'(gone|kept)'/g, "(SELECT number FROM streams WHERE name = 'conversation-$1')")),
    );
    raw.close();
    await using events = await openSqliteStore(file("turnlog.db"));
    const { problems } = await verification(events, { codecs });
    return problems.map(({ stream, kind }) => `${stream} ${kind}`);
  };
  const emptied = `encoding = 'erased', data = '{"erasedBy":"era_x"}', data_digest = '', id = ''`;
  expect(await problemsOf(() => undefined)).toEqual([]);
  expect(await problemsOf((sql) => sql(`UPDATE events SET ${emptied} WHERE stream = 'kept' AND revision = 2`))).toEqual(
    ["conversation-kept hole"],
  );
  expect(
    await problemsOf((sql) =>
      sql(
        `UPDATE events SET digest = '${"0".repeat(64)}' WHERE stream = 'gone' AND type <> 'ContentErased' AND revision = (SELECT max(revision) - 1 FROM events WHERE stream = 'gone')`,
      ),
    ),
  ).toEqual(["conversation-gone chain"]);
  expect(
    await problemsOf((sql) =>
      sql("UPDATE events SET data = replace(data, 'era_', 'era0') WHERE stream = 'gone' AND revision = 1"),
    ),
  ).toEqual(["conversation-gone hole"]);
  expect(
    await problemsOf((sql) =>
      sql("DELETE FROM events WHERE stream IN (SELECT number FROM streams WHERE name LIKE 'erasure-%')"),
    ),
  ).toContain("conversation-gone hole");
  expect(
    await problemsOf((sql) =>
      sql("INSERT INTO streams (name, revision, digest) VALUES ('blob-gone-' || hex(zeroblob(32)), 0, 'x')"),
    ),
  ).toContain(`blob-gone-${"0".repeat(64)} hole`);
});
