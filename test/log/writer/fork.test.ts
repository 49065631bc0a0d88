import { expect, test } from "vitest";
import { z } from "zod";
import { commit } from "../../../src/conversation/commit.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { viewDigest } from "../../support/view-digest.ts";
import {
  createWorkshop,
  dataOf,
  eventsOf,
  freshStore,
  rejectionOf,
  storeKinds,
  typesOf,
  type Workshop,
} from "../../support/workshop.ts";

const textsOf = async (conversation: Conversation): Promise<readonly string[]> =>
  (await conversation.turn()).blocks.map(({ text }) => text);

/** A conversation of two exchanges on one scripted endpoint. */
async function twoExchanges(workshop: Workshop) {
  const { conversation } = workshop;
  const { engine, provider } = workshop.scripted(["one answered", "two answered", "three answered", "four answered"]);
  await conversation.append("one");
  await conversation.run(engine);
  const middle = (await conversation.at(-1)).revision;
  await conversation.append("two");
  await conversation.run(engine);
  return { conversation, engine, provider, middle };
}

test("a fork is one append of one event, and the original is untouched", async () => {
  const workshop = createWorkshop();
  const { conversation, middle } = await twoExchanges(workshop);
  const before = await eventsOf(conversation);
  const written = workshop.watched.written.length;
  const fork = await conversation.fork(middle);
  expect(workshop.watched.written.slice(written)).toEqual([["ConversationStarted"]]);
  expect(await eventsOf(conversation)).toEqual(before);
  expect(await textsOf(fork)).toEqual(["one", "one answered"]);
  expect(typesOf(await eventsOf(fork))).toEqual(["ConversationStarted"]);
});

test("a fork is read as its lineage: its parent's events under their own stream and revisions, then its own", async () => {
  const workshop = createWorkshop();
  const { conversation, middle } = await twoExchanges(workshop);
  const fork = await conversation.fork(middle);
  await fork.append("another two");
  const places: string[] = [];
  for await (const { stream, revision } of fork.history()) places.push(`${stream}@${revision}`);
  const inherited = Array.from({ length: middle + 1 }, (_, revision) => `conversation-cnv_workshop@${revision}`);
  expect(places).toEqual([...inherited, `conversation-${fork.id}@0`, `conversation-${fork.id}@1`]);
});

test("a fork chains from the context that its parent earned, and declares no settings again", async () => {
  const workshop = createWorkshop();
  const { conversation, engine, middle } = await twoExchanges(workshop);
  const fork = await conversation.fork(middle);
  await fork.append("another two");
  const { steps } = await fork.run(engine);
  const [answered] = dataOf(await eventsOf(conversation), "ResponseReceived");
  expect(steps.map(({ decision }) => decision)).toMatchObject([
    { strategy: "chained", anchor: { id: answered?.responseId }, sendFrom: 2 },
  ]);
  expect(typesOf(await eventsOf(fork))).not.toContain("SettingsDeclared");
});

test("a fork of a fork has both its ancestors' beginnings", async () => {
  const { conversation, middle, engine } = await twoExchanges(createWorkshop());
  const fork = await conversation.fork(middle);
  await fork.append("another two");
  await fork.run(engine);
  const second = await fork.fork();
  await second.append("three");
  expect(await textsOf(second)).toEqual(["one", "one answered", "another two", "three answered", "three"]);
  const { steps } = await second.run(engine);
  expect(steps.map(({ decision }) => decision.strategy)).toEqual(["chained"]);
});

test("a fork knows the blocks and runs of its parent by their ids", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  await conversation.append("one", { key: "k" });
  const fork = await conversation.fork();
  const events = await eventsOf(conversation);
  const [data] = dataOf(events, "BlockAppended");
  if (data === undefined) throw new Error("nothing was appended");
  expect(await fork[commit]([{ event: { type: "BlockAppended", version: 1, data }, actor: { kind: "user" } }])).toEqual(
    [],
  );
});

test.each(storeKinds)("another process folds a fork to the same, on %s", async (kind) => {
  const workshop = createWorkshop({ events: await freshStore(kind) });
  const { conversation, middle, engine } = await twoExchanges(workshop);
  const fork = await conversation.fork(middle);
  await fork.append("another two");
  await fork.run(engine);
  const other = createWorkshop({ events: workshop.store.events });
  const seen = await (await other.store.conversation(fork.id).at(-1)).load();
  expect(seen.turn.digest).toBe((await fork.turn()).digest);
  expect(viewDigest(seen.view)).toBe(viewDigest((await (await fork.at(-1)).load()).view));
  expect(seen.blame(seen.turn.at(0)?.id ?? "")?.made).toMatchObject({ stream: "conversation-cnv_workshop" });
});

test("a fork from the middle of a run has what would be left, every call answered, and no tool runs again", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  let ran = 0;
  const count = tool({
    name: "count",
    description: "Counts.",
    inputSchema: z.object({}),
    execute() {
      ran += 1;
      return `ran ${ran}`;
    },
  });
  const call = { name: "count", arguments: "{}" };
  const { engine } = workshop.scripted([{ calls: [call, call] }, "done", "goes on"], { tools: [count] });
  await conversation.append("go");
  await conversation.run(engine);
  const started = (await eventsOf(conversation)).find(({ event }) => event.type === "ToolStarted")?.revision ?? -1;
  const past = await conversation.at(started);
  const fork = await conversation.fork(started);
  const blocks = (await fork.turn()).blocks;
  expect((await fork.turn()).digest).toBe(past.run?.ifEndedHere.digest);
  expect(blocks.map(({ kind }) => kind)).toEqual(["user", "tool_call", "tool_call", "tool_result", "tool_result"]);
  expect(blocks.slice(3).map(({ text }) => text.replace(/:.*/, ""))).toEqual(["in doubt", "aborted"]);
  expect((await fork.at(-1)).run).toBeNull();
  expect(await (await fork.at(-1)).blame(blocks[3]?.id ?? "")).toMatchObject({ made: { actor: { kind: "recovery" } } });
  await fork.append("and?");
  await fork.run(engine);
  expect(ran).toBe(2);
});

test("a fork from the middle of a run has the messages that wait for its end", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const forks: Conversation[] = [];
  const { engine } = workshop.scripted(["an answer"]);
  const { provider } = engine.options;
  await conversation.append("hello");
  await conversation.run(
    workshop.engine({
      provider: {
        ...provider,
        async infer(request) {
          await conversation.append("meanwhile");
          forks.push(await conversation.fork());
          return provider.infer(request);
        },
      },
    }),
  );
  const [fork] = forks;
  if (fork === undefined) throw new Error("nothing was asked");
  expect(await textsOf(fork)).toEqual(["hello", "meanwhile"]);
  expect(await textsOf(conversation)).toEqual(["hello", "an answer", "meanwhile"]);
});

test("what a server lost for the parent after the fork is not continued from in the fork", async () => {
  const workshop = createWorkshop();
  const { conversation, engine, middle } = await twoExchanges(workshop);
  const fork = await conversation.fork(middle);
  await fork.append("another two");
  const [answered, later] = dataOf(await eventsOf(conversation), "ResponseReceived");
  const lost = (responseId: string | null | undefined) =>
    ({
      scope: engine.options.provider.scope,
      anchor: { kind: "response", id: responseId ?? "" },
      reason: "not-found",
    }) as const;
  const data = lost(answered?.responseId);
  // Of the other one the fork knows nothing.
  for (const each of [lost(later?.responseId), data])
    await conversation[commit]([
      { event: { type: "AnchorInvalidated", version: 1, data: each }, actor: { kind: "engine" } },
    ]);
  const { steps } = await fork.run(engine);
  expect(steps.map(({ decision }) => decision)).toMatchObject([{ strategy: "full", reason: "refused" }]);
  expect(dataOf(await eventsOf(fork), "AnchorInvalidated")).toEqual([data]);
  // Told once, also when the conversation is opened anew.
  const other = createWorkshop({ events: workshop.store.events });
  const again = other.store.conversation(fork.id);
  await again.append("three");
  let ids = 0;
  const newId = (prefix: string): string => {
    ids += 1;
    return `${prefix}_other${String(ids).padStart(16, "0")}`;
  };
  await again.run(other.engine({ provider: engine.options.provider, newId }));
  expect(dataOf(await eventsOf(again), "AnchorInvalidated")).toEqual([data]);
});

test("the same fork again is harmless, and another one under its id is refused", async () => {
  const { conversation, middle } = await twoExchanges(createWorkshop());
  const fork = await conversation.fork(middle, { id: "cnv_fork" });
  expect((await conversation.fork(middle, { id: "cnv_fork" })).id).toBe(fork.id);
  expect(await eventsOf(fork)).toHaveLength(1);
  for (const [revision, id] of [
    [middle - 1, "cnv_fork"],
    [middle, conversation.id],
  ] as const) {
    expect(await rejectionOf(conversation.fork(revision, { id }))).toMatchObject({ code: "conversation-exists" });
  }
});

test("a revision or a conversation that is not there cannot be forked, and nothing is written", async () => {
  const workshop = createWorkshop();
  const { conversation } = await twoExchanges(workshop);
  const written = workshop.watched.written.length;
  const unknown = workshop.store.conversation("cnv_unknown");
  for (const work of [conversation.fork(10_000), conversation.fork(-10_000), unknown.fork()]) {
    expect(await rejectionOf(work)).toMatchObject({ code: "revision-not-found" });
  }
  expect(workshop.watched.written).toHaveLength(written);
});

test("a fork that another process writes to as it begins has each of its events once", async () => {
  const events = createMemoryStore();
  const other = new TurnlogStore(events);
  let hasSpoken = false;
  const { conversation } = createWorkshop({
    events,
    around: async (prepared, append) => {
      const result = await append();
      if (prepared.stream === "conversation-cnv_a_fork" && !hasSpoken) {
        hasSpoken = true;
        await other.conversation("cnv_a_fork").append("another process was here");
      }
      return result;
    },
  });
  await conversation.append("hello");
  const fork = await conversation.fork(-1, { id: "cnv_a_fork" });
  await fork.append("and so am I");
  const texts = ["hello", "another process was here", "and so am I"];
  expect(await textsOf(fork)).toEqual(texts);
  // What it records of its Turn is what everybody else reads.
  const reverted = await fork.revertTo(1);
  expect(reverted.blocks.map(({ text }) => text)).toEqual(texts.slice(0, 2));
  for await (const { problem } of verifyStore(events, { codecs })) expect(problem).toBeNull();
});
