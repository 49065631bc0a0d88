import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { conversationStream } from "../../../src/domain/ids.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { verification } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { collect } from "../../support/eventstoredb/bare-client.ts";
import { gated } from "../../support/gates.ts";
import { damages } from "../../support/log/damaged-copy.ts";
import { createDamagingStore } from "../../support/log/damaging-store.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";

const stream = "conversation-cnv_skip";

/** A conversation of a process that lives, and an operator in another one. */
function scene() {
  const { events, damage } = createDamagingStore();
  const open = (): TurnlogStore => new TurnlogStore({ ...events, close: async () => undefined });
  return {
    events,
    damage,
    open,
    conversation: open().conversation("cnv_skip"),
    /** An event is damaged, and an operator skips it with all that follow from it. */
    skip: async (revision: number): Promise<void> => {
      damage(stream, revision, damages["data that is no JSON"]);
      await open().conversation("cnv_skip").skipEvent(revision, "unreadable", { allThatFollow: true });
    },
  };
}

const textsOf = async (conversation: Conversation): Promise<readonly string[]> =>
  (await conversation.turn()).blocks.map(({ text }) => text);

async function revisionOf(conversation: Conversation, text: string): Promise<number> {
  for await (const { event, revision } of conversation.events())
    if (event.type === "BlockAppended" && JSON.stringify(event.data.block).includes(`"${text}"`)) return revision;
  throw new Error(`nobody said ${text}`);
}

async function typesIn(events: EventStore, name: string): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { type } of events.readStream(name)) types.push(type);
  return types;
}

test("a conversation object whose exchange was skipped is cut before the next request goes on in it", async () => {
  const server = await startReferenceServer({ answer: ({ request }) => ({ output: [message(`answer ${request}`)] }) });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { conversation, skip } = scene();
  const provider = openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json" });
  const engine = createEngine({ provider, mode: "conversation" });
  for (const text of ["one", "two", "three"]) {
    if (text === "three") await skip(await revisionOf(conversation, "two"));
    await conversation.append(text);
    await conversation.run(engine);
  }
  const read = server.reading(server.requests.length - 1)?.items.map((item) => JSON.stringify(item)) ?? [];
  expect(read).toHaveLength(3);
  expect(read.join()).not.toContain("two");
  expect(await textsOf(conversation)).toEqual(["one", "answer 0", "three", expect.stringMatching(/^answer \d$/)]);
});

test("a fork that a process has at hand goes on without what is skipped in its parent", async () => {
  const { events, open, conversation, skip } = scene();
  for (const text of ["one", "two"]) await conversation.append(text);
  const fork = await conversation.fork(-1, { id: "cnv_fork" });
  await fork.append("three");
  await skip(await revisionOf(conversation, "one"));
  const provider = scripted(["an answer"]);
  await fork.run(createEngine({ provider }));
  expect(JSON.stringify(provider.requests)).not.toContain('"one"');
  expect(await textsOf(fork)).toEqual(["two", "three", "an answer"]);
  expect(await textsOf(open().conversation("cnv_fork"))).toEqual(["two", "three", "an answer"]);
  expect((await verification(events, { codecs })).problems).toEqual([]);
});

test("two programs that hold a fork of a fork show the same once an event that it inherits was skipped", async () => {
  const { events, open, conversation, skip } = scene();
  for (const text of ["one", "two"]) await conversation.append(text);
  const fork = await conversation.fork(-1, { id: "cnv_fork" });
  await fork.append("three");
  const child = await fork.fork(-1, { id: "cnv_child" });
  await child.append("four");
  const elsewhere = open().conversation("cnv_child");
  for (const each of [child, elsewhere]) expect(await textsOf(each)).toEqual(["one", "two", "three", "four"]);
  const early = await conversation.fork(await revisionOf(conversation, "one"), { id: "cnv_early" });
  const two = await revisionOf(conversation, "two");
  await skip(two);
  for (const each of [child, elsewhere, open().conversation("cnv_child")])
    expect(await textsOf(each)).toEqual(["one", "three", "four"]);
  for (const told of [fork, child]) {
    const newest = (await collect(told.events())).at(-1);
    expect(newest?.event).toEqual({
      type: "AncestorEventsSkipped",
      version: 1,
      data: { conversationId: "cnv_skip", revisions: [two] },
    });
    expect(newest?.actor).toEqual({ kind: "operator" });
  }
  expect(await typesIn(events, conversationStream(early.id))).toEqual(["ConversationStarted"]);
  expect((await verification(events, { codecs })).problems).toEqual([]);
});

test("a follower of a fork is told that what it inherits reads otherwise", async () => {
  const { conversation, skip } = scene();
  for (const text of ["one", "two"]) await conversation.append(text);
  const fork = await conversation.fork(-1, { id: "cnv_fork" });
  const following = fork.follow(0)[Symbol.asyncIterator]();
  expect(await following.next()).toMatchObject({ value: { event: { type: "ConversationStarted" } } });
  await skip(await revisionOf(conversation, "two"));
  expect(await following.next()).toMatchObject({ value: { event: { type: "AncestorEventsSkipped" } } });
  await following.return?.();
});

test("a skip that was interrupted before all forks were told is finished by repeating it, and a third time changes nothing", async () => {
  const { events, open, damage, conversation } = scene();
  for (const text of ["one", "two"]) await conversation.append(text);
  const forks = ["cnv_a", "cnv_b"];
  for (const id of forks) await conversation.fork(-1, { id });
  const one = await revisionOf(conversation, "one");
  damage(stream, one, damages["data that is no JSON"]);
  const cut = new TurnlogStore({
    ...events,
    append: (prepared) =>
      prepared.stream === "conversation-cnv_b"
        ? Promise.reject(new TypeError("the process ended"))
        : events.append(prepared),
    close: async () => undefined,
  });
  const skipped = (store: TurnlogStore) => store.conversation("cnv_skip").skipEvent(one, "unreadable");
  await expect(skipped(cut)).rejects.toThrow("the process ended");
  const told = async () => {
    const counts = [];
    for (const id of forks)
      counts.push(
        (await typesIn(events, `conversation-${id}`)).filter((type) => type === "AncestorEventsSkipped").length,
      );
    return counts;
  };
  expect(await told()).toEqual([1, 0]);
  await open().conversation("cnv_skip").fork(-1, { id: "cnv_later" });
  for (let time = 0; time < 2; time += 1) {
    expect((await skipped(open())).skipped).toEqual([]);
    expect(await told()).toEqual([1, 1]);
  }
  expect(await typesIn(events, "conversation-cnv_later")).toEqual(["ConversationStarted"]);
});

test("a skip in the parent while a layer of a fork works has the run begin again on what is left", async () => {
  const { open, conversation, skip } = scene();
  for (const text of ["one", "two"]) await conversation.append(text);
  const fork = await conversation.fork(-1, { id: "cnv_fork" });
  await fork.append("three");
  const one = await revisionOf(conversation, "one");
  let calls = 0;
  const provider = scripted(["an answer"]);
  const layer = defineMiddleware({ name: "slow", version: "1.0.0" }, (next) => async (turn) => {
    calls += 1;
    if (calls === 1) await skip(one);
    return next(turn);
  });
  await fork.run(createEngine({ provider, middleware: [layer] }));
  expect(calls).toBe(2);
  expect(JSON.stringify(provider.requests)).not.toContain('"one"');
  expect(await textsOf(open().conversation("cnv_fork"))).toEqual(["two", "three", "an answer"]);
});

test("a revision of the past is read without what was skipped later, also where there was a snapshot of it", async () => {
  const { events, open, conversation, skip } = scene();
  for (const text of ["one", "two", "three"]) await conversation.append(text);
  await takeSnapshots(events, stream, { events: 2, edits: 5 });
  await conversation.append("four");
  await skip(await revisionOf(conversation, "one"));
  const { turn } = await open()
    .conversation("cnv_skip")
    .at(await revisionOf(conversation, "three"));
  expect(turn.blocks).toHaveLength(2);
});

test("a fork of a revision up to which everything was skipped begins with nothing", async () => {
  const { conversation, skip } = scene();
  await conversation.append("one");
  await skip(0);
  const fork = await conversation.fork(0);
  await fork.append("two");
  expect(await textsOf(fork)).toEqual(["two"]);
});

test("a message does not end the run of a conversation whose first event was skipped", async () => {
  const { conversation, skip } = scene();
  await conversation.append("one");
  const provider = gated(["an answer"], async () => {
    await skip(0);
    await conversation.append("by the way");
  });
  expect((await conversation.run(createEngine({ provider }))).text).toBe("an answer");
  expect(await textsOf(conversation)).toEqual(["one", "an answer", "by the way"]);
});

const lookUp = tool({
  name: "look-up",
  description: "Looks up.",
  inputSchema: z.object({}),
  execute: () => "found",
});

const call = { calls: [{ name: "look-up", arguments: "{}" }] };

test("a run of a fork ends when an event that its Turn depends on is skipped in the parent, and records nothing more", async () => {
  const { events, open, conversation, skip } = scene();
  await conversation.append("one");
  const fork = await conversation.fork(-1, { id: "cnv_fork" });
  await fork.append("two");
  const one = await revisionOf(conversation, "one");
  const provider = gated([call, "an answer"], (number) => (number === 0 ? undefined : skip(one)));
  const ended = await fork.run(createEngine({ provider, tools: [lookUp] })).catch((error: unknown) => error);
  expect(ended).toMatchObject({ code: "conversation-damaged", stream: "conversation-cnv_fork" });
  const types = await typesIn(events, "conversation-cnv_fork");
  expect(types.slice(-2)).toEqual(["InferenceRequested", "AncestorEventsSkipped"]);
  const started = types.indexOf("RunStarted");
  await open().conversation("cnv_fork").skipEvent(started, "it began before the skip", { allThatFollow: true });
  const { text } = await fork.run(createEngine({ provider: scripted(["another answer"]) }));
  expect([text, await textsOf(fork)]).toEqual(["another answer", ["two", "another answer"]]);
  expect(await textsOf(open().conversation("cnv_fork"))).toEqual(["two", "another answer"]);
  expect((await verification(events, { codecs })).problems).toEqual([]);
});

test("a run of a fork goes on when what is skipped in the parent changes nothing that it began with", async () => {
  const { events, open, conversation, skip } = scene();
  await conversation.append("one");
  const fork = await conversation.fork(-1, { id: "cnv_fork" });
  await fork.append("two");
  const provider = gated([call, "an answer"], (number) => (number === 0 ? skip(0) : undefined));
  expect((await fork.run(createEngine({ provider, tools: [lookUp] }))).text).toBe("an answer");
  expect((await textsOf(fork)).at(-1)).toBe("an answer");
  expect(await textsOf(open().conversation("cnv_fork"))).toEqual(await textsOf(fork));
  expect((await verification(events, { codecs })).problems).toEqual([]);
});

test("a run of a fork declares its settings again when their declaration is skipped in the parent", async () => {
  const { events, conversation, skip } = scene();
  const engineOf = (provider: Provider) => createEngine({ provider, tools: [lookUp] });
  await conversation.append("one");
  await conversation.run(engineOf(scripted(["first"], { prefix: "parent_" })));
  const fork = await conversation.fork(-1, { id: "cnv_fork" });
  await fork.append("two");
  const declared = (await typesIn(events, stream)).indexOf("SettingsDeclared");
  const provider = gated([call, "an answer"], (number) => (number === 0 ? skip(declared) : undefined));
  expect((await fork.run(engineOf(provider))).text).toBe("an answer");
  const types = (await typesIn(events, "conversation-cnv_fork")).slice(-4);
  expect(types).toEqual(["SettingsDeclared", "InferenceRequested", "ResponseReceived", "RunCompleted"]);
});

test("a run of a fork reads nothing of what its parent records meanwhile", async () => {
  const { events, conversation } = scene();
  await conversation.append("one");
  let read = 0;
  const counted: EventStore = {
    ...events,
    async *readStream(name, options) {
      for await (const envelope of events.readStream(name, options)) {
        if (name === stream) read += 1;
        yield envelope;
      }
    },
  };
  const store = new TurnlogStore({ ...counted, close: async () => undefined });
  const fork = await store.conversation("cnv_skip").fork(-1, { id: "cnv_fork" });
  await fork.append("two");
  const provider = gated([call, call, call, call, "an answer"], async (number) => {
    if (number === 0) read = 0;
    await conversation.append(`meanwhile ${number}`);
  });
  expect((await fork.run(createEngine({ provider, tools: [lookUp] }))).text).toBe("an answer");
  expect(read).toBe(0);
});
