import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { findConversation } from "../../src/apps/cli/find.ts";
import { commit } from "../../src/conversation/commit.ts";

import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../src/engine/options/create-engine.ts";
import type { EventStore } from "../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../src/log/ports/store-errors.ts";
import { createProjector } from "../../src/log/read-models/projector.ts";
import { verification } from "../../src/operations/audit/verify.ts";
import { conversationList } from "../../src/projections/views/conversation-list.ts";
import { codecs } from "../../src/providers/codecs.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { portMethods } from "../support/faults/port-methods.ts";
import { damagedCopy, damages } from "../support/log/damaged-copy.ts";
import { beforeRequest, dieAt } from "../support/run/scene.ts";
import { rejectionOf } from "../support/workshop.ts";

const root = join(import.meta.dirname, "../..");

/** Where each port is declared. */
const files = {
  EventStore: "src/log/ports/event-store.ts",
  SnapshotStore: "src/log/ports/snapshot-store.ts",
  ViewStore: "src/log/ports/view-store.ts",
  Liveness: "src/log/ports/liveness.ts",
  Provider: "src/engine/ports/provider.ts",
} as const;

test.each(Object.entries(portMethods))(
  "every method of %s is in the list of those that tests make fail",
  (port, methods) => {
    const file = Object.entries(files).find(([name]) => name === port)?.[1] ?? "";
    expect(
      methodsOf(readFileSync(join(root, file), "utf8"), port).toSorted(),
      `have the method of ${port} fail in test/faults/port-faults.test.ts, and add it to test/support/faults/port-methods.ts`,
    ).toEqual(Object.keys(methods).toSorted());
  },
);

test("every suite that the list names is there", () => {
  const suites = Object.values(portMethods).flatMap((methods) => Object.values(methods).map(({ struck }) => struck));
  const named = suites.filter((suite) => suite.includes("/"));
  expect(named.filter((suite) => !existsSync(join(root, "test", `${suite}.test.ts`)))).toEqual([]);
});

function methodsOf(code: string, port: string): readonly string[] {
  const source = ts.createSourceFile("port.ts", code, ts.ScriptTarget.Latest, true);
  const found = source.statements.find((each) => ts.isInterfaceDeclaration(each) && each.name.text === port);
  if (found === undefined || !ts.isInterfaceDeclaration(found)) throw new Error(`there is no interface ${port}`);
  return found.members
    .filter(
      (member) =>
        ts.isMethodSignature(member) ||
        (ts.isPropertySignature(member) && member.type !== undefined && ts.isFunctionTypeNode(member.type)),
    )
    .map(({ name }) => name?.getText() ?? "");
}

const down = async (): Promise<never> => {
  throw new StoreUnavailableError("this call fails");
};
const unavailable = { code: "store-unavailable" };

/** A store of one conversation. */
async function filled(): Promise<EventStore> {
  const events = createMemoryStore();
  await new TurnlogStore(events).conversation("cnv_one").append("hello");
  return events;
}

test.each(["orphanEvents", "savedHeads", "saveHeads"])(
  "verify tells that the store could not give or keep its %s",
  async (method) => {
    const events = await filled();
    expect(await rejectionOf(verification({ ...events, [method]: down }, { codecs }))).toMatchObject(unavailable);
  },
);

test("a conversation does not begin in another encoding where the store cannot tell whether it takes lines, and begins when it can", async () => {
  const memory = createMemoryStore();
  let calls = 0;
  const takesLines = (): boolean | Promise<boolean> => (calls++ === 0 ? down() : true);
  const conversation = new TurnlogStore({ ...memory, takesLines }).conversation("cnv_two");
  expect(await rejectionOf(conversation.append("hello"))).toMatchObject(unavailable);
  expect(await memory.head("conversation-cnv_two")).toBeNull();
  await conversation.append("hello");
  for await (const { encoding } of memory.readStream("conversation-cnv_two")) expect(encoding).toBe("lines");
  expect(await verification(memory, { codecs })).toMatchObject({ isSound: true });
});

test("a naming key that cannot be read now is not taken for a lost one", async () => {
  const memory = await filled();
  const key = await memory.namingKey?.("conversation-cnv_one");
  let isDown = true;
  const namingKey = (): Promise<string | null> => (isDown ? down() : Promise.resolve(key ?? null));
  const conversation = new TurnlogStore({ ...memory, namingKey }).conversation("cnv_one");
  expect(await rejectionOf(conversation.append("once more"))).toMatchObject(unavailable);
  isDown = false;
  await conversation.append("once more");
  expect((await conversation.turn()).length).toBe(2);
  expect(await verification(memory, { codecs })).toMatchObject({ isSound: true });
});

test("@last is not another conversation where the store cannot tell the newest", async () => {
  const store = new TurnlogStore({ ...(await filled()), newestStream: down });
  expect(await rejectionOf(findConversation(store, "@last"))).toMatchObject(unavailable);
});

test("a store that cannot be closed says so to who closes it", async () => {
  const store = new TurnlogStore({ ...(await filled()), close: down });
  expect(await rejectionOf(store.close())).toMatchObject(unavailable);
});

test("a run whose owner's lease cannot be judged is not taken from it", async () => {
  const memory = createMemoryStore();
  const liveness = { hold: async () => "lse_gone", isAlive: async () => true, deadAfterMs: 1, whenKnown: down };
  const events = { ...memory, liveness };
  const engine = createEngine({ provider: scripted(["an answer"]) });
  const conversation = new TurnlogStore(events).conversation("cnv_one");
  await conversation.append("hello");
  await dieAt({ conversation, engine }, beforeRequest(0));
  const runId = (await conversation.at(-1)).run?.id ?? "";
  const elsewhere = {
    processId: "prc_x",
    bootId: "b",
    host: "elsewhere",
    pid: 1,
    startedAt: "then",
    pidNamespace: "n",
  };
  const owner = { ...elsewhere, lease: { storeId: memory.storeId, id: "lse_gone" } };
  await conversation[commit]([
    {
      event: { type: "RunResumed", version: 1, data: { epoch: 1, owner, stack: [] } },
      ...{ actor: { kind: "recovery" }, runId, frame: "0" },
    },
  ]);
  const other = new TurnlogStore(events).conversation("cnv_one");
  expect(await rejectionOf(other.run(engine))).toMatchObject(unavailable);
  expect((await other.at(-1)).run?.id).toBe(runId);
});

test("a skip that could not delete the snapshots is an error, and deletes them when it is repeated", async () => {
  const damaged = await damagedCopy(await filled(), {
    ...{ stream: "conversation-cnv_one", revision: 1, damage: damages["data that is no JSON"] },
  });
  const { snapshots } = damaged;
  if (snapshots === undefined) throw new Error("the store keeps no snapshots");
  let deletions = 0;
  const deleteAll = async (): Promise<void> => {
    deletions += 1;
    if (deletions === 1) await down();
    await snapshots.deleteAll();
  };
  const skip = () =>
    new TurnlogStore({ ...damaged, snapshots: { ...snapshots, deleteAll } })
      .conversation("cnv_one")
      .skipEvent(1, "unreadable");
  expect(await rejectionOf(skip())).toMatchObject(unavailable);
  expect(await skip()).toEqual({ skipped: [], damage: [], forks: [] });
  expect(deletions).toBe(2);
});

test("a read of all rows fails if they cannot be read", async () => {
  const events = await filled();
  const { views } = events;
  if (views === undefined) throw new Error("the store keeps no rows");
  const rows = createProjector({ ...events, views: { ...views, rows: down } }, conversationList);
  await rows.catchUp();
  expect(
    await rejectionOf(
      (async () => {
        for await (const _ of rows.orphanRows()) break;
      })(),
    ),
  ).toMatchObject(unavailable);
});
