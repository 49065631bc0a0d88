import { expect, test } from "vitest";
import { sha256Hex } from "../../../src/base/sha256.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { exportBundle, importBundle } from "../../../src/operations/transfer/carry-bundle.ts";
import { copyConversations } from "../../../src/operations/transfer/copy.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { type ScriptedProvider, scripted } from "../../../src/providers/scripted/scripted.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { seeds } from "../../support/cases.ts";
import { recordedRequests } from "../../support/coherence/recorded-requests.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { randomConversation } from "../../support/random-conversation.ts";
import { beforeRequest, createScene, dieAt } from "../../support/run/scene.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

const stream = "conversation-cnv_1";

/** A layer that writes old messages anew before every request: the first one as a draft, the others under their ids. */
const rewriting = defineMiddleware({ name: "rewriting", version: "1.0.0" }, (next) => (turn) => {
  const anew = turn.map((block) => (block.kind === "user" ? block.withPayload({ ...block.payload }) : block));
  return next(anew.with([user(anew.at(0)?.text ?? ""), ...anew.after(1)]));
});

const engineOf = (provider: ScriptedProvider) => createEngine({ provider, middleware: [rewriting] });

async function talk(
  conversation: Conversation,
  provider: ScriptedProvider,
  ...texts: readonly string[]
): Promise<void> {
  for (const text of texts) {
    await conversation.append(text);
    await conversation.run(engineOf(provider));
  }
}

const strategiesOf = async (conversation: Conversation): Promise<readonly string[]> =>
  dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision.strategy);

const lastStrategy = async (conversation: Conversation): Promise<string | undefined> =>
  (await strategiesOf(conversation)).at(-1);

const answering = (): ScriptedProvider => scripted(({ requestNumber }) => `answer ${requestNumber}`);

/** The same store for another process, which has none of the objects of the first. */
const processOn = (events: EventStore): Conversation =>
  new TurnlogStore({ ...events }, { codecs: [] }).conversation("cnv_1");

async function bundleOf(store: TurnlogStore, redact = false): Promise<string> {
  let bundle = "";
  for await (const line of exportBundle(store, { redact })) bundle += line;
  return bundle;
}

async function* linesOf(bundle: string): AsyncIterable<string> {
  yield bundle;
}

test("the same drawn stack decides and sends the same with keyed names as with plain ones", async () => {
  for (const seed of seeds(6, 2_000, 30)) {
    const [keyed, plain] = [await randomConversation(seed), await randomConversation(seed, "json")];
    expect(await keyed.store.events.namingKey?.("conversation-cnv_workshop")).toMatch(/^[0-9a-f]{64}$/);
    const requestsOf = async ({ store }: typeof keyed) =>
      (await recordedRequests(store, { sound: store.events, hasSkips: false })).map((request) =>
        typeof request === "string" ? request : [request.strategy, request.bodyText],
      );
    expect(await requestsOf(keyed), `seed ${seed}`).toEqual(await requestsOf(plain));
  }
});

test("a short text is found from no event, and is from a conversation written as json", async () => {
  const pin = "My PIN is 7302.";
  for (const [encoding, isFound] of [
    ["lines", false],
    ["json", true],
  ] as const) {
    await using store = new TurnlogStore(createMemoryStore(), { encoding });
    const conversation = store.conversation("cnv_1");
    const provider = scripted(["answer"]);
    await conversation.append(pin);
    const middleware = [
      defineMiddleware({ name: "pin", version: "1.0.0", config: pin }, (next) => (turn) => next(turn)),
    ];
    await conversation.run(createEngine({ provider, middleware }), { instructions: pin });
    const events = await eventsOf(conversation);
    const told = JSON.stringify(events.map(({ event }) => event));
    const [settings] = dataOf(events, "SettingsDeclared");
    expect(settings?.settings["instructions"]).toBe(pin);
    expect(told.includes(user(pin).digest), encoding).toBe(isFound);
    expect(told.includes(sha256Hex(JSON.stringify(settings?.settings))), encoding).toBe(isFound);
    expect(told.includes(sha256Hex(JSON.stringify(pin))), encoding).toBe(isFound);
  }
});

test.each(["memory", "sqlite"] as const)(
  "forks, other processes, snapshots and copies of a conversation in a %s store go on chained",
  async (kind) => {
    const events = kind === "memory" ? createMemoryStore() : await openSqliteStore(temporaryFolder().file("named.db"));
    await using store = new TurnlogStore(events);
    const provider = answering();
    const conversation = store.conversation("cnv_1");
    await talk(conversation, provider, "one", "two");
    expect(await strategiesOf(conversation)).toEqual(["full", "chained"]);

    const fork = await conversation.fork();
    await talk(fork, provider, "three");
    expect(await lastStrategy(fork)).toBe("chained");
    const second = await fork.fork();
    await talk(second, provider, "four");
    expect(await lastStrategy(second)).toBe("chained");

    await talk(processOn(events), provider, "three again");
    expect(await lastStrategy(conversation)).toBe("chained");
    await takeSnapshots(events, stream, { events: 4, edits: 5 });
    await talk(processOn(events), provider, "from a snapshot");
    expect(await lastStrategy(conversation)).toBe("chained");

    const copy = createMemoryStore();
    await copyConversations(store, new TurnlogStore(copy));
    await talk(processOn(copy), provider, "copied");
    expect(await lastStrategy(processOn(copy))).toBe("chained");

    const bundled = new TurnlogStore(createMemoryStore());
    const bundle = await bundleOf(store);
    await importBundle(() => linesOf(bundle), bundled);
    await talk(bundled.conversation("cnv_1"), provider, "bundled");
    expect(await lastStrategy(bundled.conversation("cnv_1"))).toBe("chained");
    for (const each of [events, copy, bundled.events])
      for await (const { problem } of verifyStore(each, { codecs })) expect(problem).toBeNull();
  },
);

test("a run that was cut off is taken up with the names that it began with", async () => {
  const scene = createScene(["one", "two"], { middleware: [rewriting] });
  const first = scene.process();
  await first.conversation.append("hello");
  await first.conversation.run(first.engine);
  await first.conversation.append("more");
  await dieAt(first, beforeRequest(0));
  const { conversation, engine } = scene.process();
  expect(await conversation.run(engine)).toMatchObject({ text: "two", resumed: true });
  // The request that was not answered is sent again.
  expect(await strategiesOf(conversation)).toEqual(["full", "chained", "chained"]);
});

test("settings have one name in a conversation and its forks, also if the key is lost", async () => {
  const events = createMemoryStore();
  const namesOf = async (conversation: Conversation): Promise<readonly string[]> => {
    const told: RecordedEvent[] = [];
    for await (const recorded of conversation.history()) told.push(recorded);
    return dataOf(told, "SettingsDeclared").map(({ digest }) => digest);
  };
  const engine = createEngine({ provider: answering() });
  const instructions = "Be brief.".repeat(100);
  const ask = async (conversation: Conversation, more = {}): Promise<void> => {
    await conversation.append("hello");
    await conversation.run(engine, { instructions, ...more });
  };
  const conversation = processOn(events);
  await ask(conversation);
  await ask(conversation, { temperature: 1 });
  const fork = await conversation.fork();
  for (const each of [conversation, fork]) await ask(each);
  const names = await namesOf(fork);
  expect(names).toHaveLength(2);
  expect(await namesOf(conversation)).toEqual(names);

  const keyless = { ...events, namingKey: async () => null };
  for (const more of [{}, { temperature: 1 }]) await ask(processOn(keyless), more);
  expect(await namesOf(processOn(keyless))).toEqual(names);
  expect(await reexecute(processOn(keyless), engine)).toMatchObject({ runs: 5, difference: null });
});

test("a lost key costs one whole request at most, and is no error", async () => {
  const events = createMemoryStore();
  const provider = answering();
  await talk(processOn(events), provider, "one", "two", "three");
  const keyless = { ...events, namingKey: async () => null };
  const conversation = processOn(keyless);
  await talk(conversation, provider, "four", "five", "six");
  const strategies = await strategiesOf(conversation);
  expect(strategies.filter((strategy) => strategy !== "chained").length).toBeLessThanOrEqual(2);
  expect(strategies.slice(-2)).toEqual(["chained", "chained"]);
  const fork = await conversation.fork(7);
  await talk(fork, provider, "from the middle");
  for await (const { problem } of verifyStore(keyless, { codecs })) expect(problem).toBeNull();
});

test("two processes that begin one conversation at once use the key of the first", async () => {
  const events = createMemoryStore();
  const [one, two] = [processOn(events), processOn(events)];
  await Promise.all([one.append("from one"), two.append("from two")]);
  const provider = answering();
  await talk(one, provider, "three");
  await talk(two, provider, "four");
  expect(await strategiesOf(one)).toEqual(["full", "chained"]);
  for await (const { problem } of verifyStore(events, { codecs })) expect(problem).toBeNull();
});

test("verify names a block whose name does not follow from its content and the key", async () => {
  const events = createMemoryStore();
  await talk(processOn(events), answering(), "one");
  const another = { ...events, namingKey: async () => "0".repeat(64) };
  const problems: string[] = [];
  for await (const { problem } of verifyStore(another, { codecs })) problems.push(JSON.stringify(problem));
  expect(problems.join()).toContain("does not match its digest");
});

test("a bundle with another key than the store's for the same conversation is refused", async () => {
  const events = createMemoryStore();
  const store = new TurnlogStore(events);
  await talk(store.conversation("cnv_1"), answering(), "one");
  const bundle = await bundleOf(new TurnlogStore({ ...events, namingKey: async () => "0".repeat(64) }));
  await expect(importBundle(() => linesOf(bundle), store)).rejects.toMatchObject({ code: "copy-diverged" });
});

test("a redacted bundle has no key", async () => {
  const store = new TurnlogStore(createMemoryStore());
  await store.conversation("cnv_1").append("one");
  const key = (await store.events.namingKey?.(stream)) ?? "";
  expect(await bundleOf(store)).toContain(key);
  expect(await bundleOf(store, true)).not.toContain(key);
});

test("more conversations than are remembered begin at once, each with names by its own key", async () => {
  await using store = new TurnlogStore(createMemoryStore());
  const ids = Array.from({ length: 1_500 }, (_, n) => `cnv_at_once_${n}`);
  await Promise.all(ids.map((id) => store.conversation(id).append("Hello")));
  expect(await store.verify()).toMatchObject({ isSound: true, streams: ids.length, problems: [] });
});
