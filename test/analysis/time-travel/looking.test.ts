import { expect, expectTypeOf, test } from "vitest";
import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { user } from "../../../src/domain/make-block.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import type {
  BlameReport,
  ConversationDiff,
  RequestExplanation,
  SentRequest,
  Verification,
  WalkedEvent,
} from "../../../src/entries/audit.ts";
import { type Counterfactual, whatIf } from "../../../src/entries/replay.ts";
import type { Head } from "../../../src/entries/store.ts";
import { createStore, type EventStore } from "../../../src/entries/store.ts";
import { anthropic } from "../../../src/providers/anthropic/anthropic.ts";
import { createWorkshop, eventsOf, type Workshop } from "../../support/workshop.ts";

test("the head is that of the newest event, and null before the first", async () => {
  const { conversation, store } = createWorkshop();
  expect(await conversation.head()).toBeNull();
  await conversation.append(["one", "two"]);
  expect(await conversation.head()).toEqual(await store.events.head("conversation-cnv_workshop"));
  expect((await conversation.head())?.revision).toBe(2);
});

test("a walk gives each event's words, its difference with its author, and the body of its request", async () => {
  const { conversation, provider } = await talked();
  const walked = await walkOf(conversation);
  expect(walked.map(({ revision }) => revision)).toEqual(walked.map((_, index) => index));
  expect(walked.every(({ problem, event, type }) => problem === null && event?.type === type)).toBe(true);
  const [said, ...others] = walked.filter(({ changes }) => changes !== null);
  expect(said).toMatchObject({
    ...{ type: "BlockAppended", words: "user “hello”" },
    changes: { added: [{ index: 0, block: { text: "hello" }, by: { kind: "user" } }], removed: [], modified: [] },
  });
  expect(others[0]).toMatchObject({
    type: "TurnEdited",
    changes: { modified: [{ before: { block: { text: "hello" } }, by: { kind: "middleware", name: "loud" } }] },
  });
  const bodies = walked.flatMap(({ request }) => (request === null ? [] : [request]));
  expect(bodies.map(({ bodyText }): unknown => JSON.parse(bodyText))).toEqual(provider.requests);
  expect(bodies.every(({ bodyText, sha256 }) => sha256Hex(bodyText) === sha256)).toBe(true);
});

test("a walk backwards gives the same events, the newest first", async () => {
  const { conversation } = await talked();
  const forwards = await walkOf(conversation, { from: 1, to: -2 });
  const backwards = await walkOf(conversation, { from: 1, to: -2, direction: "backwards" });
  expect(JSON.stringify(backwards.toReversed())).toBe(JSON.stringify(forwards));
  expect(forwards.length).toBe(((await conversation.head())?.revision ?? 0) - 1);
});

test("a walk backwards over more events than are held at once misses none", async () => {
  const { conversation } = createWorkshop();
  await conversation.append(Array.from({ length: 2_100 }, (_, n) => user(`Message ${n}.`)));
  const revisions = (await walkOf(conversation, { direction: "backwards" })).map(({ revision }) => revision);
  expect(revisions).toEqual(Array.from({ length: 2_101 }, (_, n) => 2_100 - n));
});

test("a walk of nothing ends at once, and one of what is not there is refused", async () => {
  const { conversation } = createWorkshop();
  expect(await walkOf(conversation)).toEqual([]);
  await expect(walkOf(conversation, { from: 0 })).rejects.toThrow(/no revision 0 of .*: it has no events/);
  await conversation.append(["one", "two"]);
  await expect(walkOf(conversation, { to: 3 })).rejects.toThrow(
    /no revision 3 of cnv_workshop: it has the revisions 0 to 2/,
  );
  await expect(walkOf(conversation, { from: -1, to: 0 })).rejects.toThrow("it goes from revision 2 to 0");
});

test("of a fork a walk tells what its own events changed of what it has from its parent", async () => {
  const { conversation, engine } = await talked();
  const fork = await conversation.fork();
  await fork.append("and now?");
  await fork.run(engine);
  const walked = await walkOf(fork);
  expect(walked[0]).toMatchObject({ type: "ConversationStarted", changes: null });
  expect(walked[1]?.changes?.added).toMatchObject([{ index: 4, block: { text: "and now?" } }]);
  expect(walked.flatMap(({ request }) => request ?? []).length).toBe(1);
});

test("a walk tells a bad event as such and goes on", async () => {
  const { conversation, store } = await talked();
  const last = (await conversation.head())?.revision ?? -1;
  await addUnheardEvent(store);
  const walked = await walkOf(conversation);
  expect(walked.length).toBe(last + 2);
  expect(walked.at(-1)).toMatchObject({ event: null, changes: null, words: "Unheard cannot be read" });
});

test("a walk tells an event that is not what was written, where it was changed", async () => {
  const { conversation, store } = await talked();
  const { events } = store;
  const changed: EventStore = {
    ...events,
    async *readStream(stream, options) {
      for await (const envelope of events.readStream(stream, options))
        yield envelope.revision === 1 ? { ...envelope, data: envelope.data.replace("hello", "hallo") } : envelope;
    },
  };
  const walked = await walkOf(createStore(changed).conversation(conversation.id));
  expect(walked.flatMap(({ revision, problem }) => (problem === null ? [] : [`${revision} ${problem}`]))).toContain(
    "1 its data is not what was written",
  );
  expect(walked.filter(({ problem }) => problem?.startsWith("its d")).length).toBe(1);
  await expect(store.conversation("cnv_nobody").verify()).rejects.toMatchObject({ code: "revision-not-found" });
});

test("a request is given for its own revision and its answer's, and where nothing was asked the last one is named", async () => {
  const { conversation } = await talked();
  const walked = await walkOf(conversation);
  const asked = walked.findIndex(({ type }) => type === "InferenceRequested");
  expect(await conversation.request(asked)).toEqual(walked[asked]?.request);
  expect(await conversation.request(asked + 1)).toEqual(walked[asked]?.request);
  expect((await conversation.request()).revision).toBeGreaterThan(asked);
  await expect(conversation.request(0)).rejects.toMatchObject({ code: "request-not-found" });
  const end = walked.findIndex(({ type }) => type === "RunCompleted");
  await expect(conversation.request(end)).rejects.toThrow(`the last request before it is at revision ${asked}`);
  expect((await conversation.why(end)).revision).toBe(asked);
});

test("why tells who broke the chain, diff and blame who changed what", async () => {
  const { conversation } = await talked();
  const { decision, candidates, sent, brokenBy } = await conversation.why();
  expect(decision.strategy).toBe("chained");
  expect(candidates).toMatchObject([{ verdict: "taken", divergence: null }]);
  expect(sent.map(({ block }) => block.text)).toEqual(["MORE"]);
  expect(brokenBy).toBeNull();
  const diff = await conversation.diff(1, -1);
  expect(diff.modified).toMatchObject([{ after: { index: 0, block: { text: "HELLO" } }, by: { name: "loud" } }]);
  expect(diff.to).toMatchObject({ conversation: "cnv_workshop", digest: (await conversation.turn()).digest });
  const { blocks } = await conversation.blame();
  expect(blocks.map(({ block, made, changed }) => [block.text, made?.actor.kind, changed?.actor.kind])).toEqual([
    ["HELLO", "user", "middleware"],
    ["hi", "provider", "provider"],
    ["MORE", "user", "middleware"],
    ["yes", "provider", "provider"],
  ]);
});

test("why compares with the request before where an endpoint can continue from nothing, and names who changed it", async () => {
  await using server = await startReferenceServer();
  const { conversation, ...workshop } = createWorkshop();
  const claude = anthropic({ model: "claude-sonnet-5", apiKey: "none", baseURL: server.url });
  const shout = defineMiddleware(
    { name: "shout", version: "1.0.0" },
    (next) => (turn) =>
      next(turn.map((block) => (block.text === "one" ? block.withText(block.text.toUpperCase()) : block))),
  );
  const ask = async (said: string, config: Partial<EngineConfig> = {}) => {
    await conversation.append(said);
    await conversation.run(workshop.engine({ provider: claude, ...config }));
    return conversation.why();
  };
  expect(await ask("one")).toMatchObject({ before: null, brokenBy: null });
  const second = await ask("two");
  expect(second.decision.reason).toBe("provider-cannot-chain");
  expect(second.before).toMatchObject({ divergence: null, changedSettings: [] });
  const third = await ask("three", { middleware: [shout] });
  expect(third.before?.revision).toBeGreaterThan(second.revision);
  expect(third.before).toMatchObject({ divergence: { index: 0, change: "edited", actor: { name: "shout" } } });
  const other = anthropic({ model: "claude-sonnet-5", apiKey: "none", baseURL: server.url, instructions: "Be brief." });
  expect((await ask("four", { provider: other })).before?.changedSettings).toEqual(["instructions"]);
});

test("blame names the revision of the edit that took a block out, and what the block said", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const forget = defineMiddleware(
    { name: "forget", version: "1.0.0" },
    (next) => (turn) => next(turn.filter(({ text }) => text !== "a secret")),
  );
  await conversation.append("a secret");
  await conversation.append("hello");
  await conversation.run(workshop.scripted(["hi"], { middleware: [forget] }).engine);
  const edit = (await eventsOf(conversation)).find(({ event }) => event.type === "TurnEdited");
  expect((await conversation.blame()).removed).toMatchObject([
    { removed: { actor: { name: "forget" }, revision: edit?.revision }, block: { text: "a secret" } },
  ]);
});

test("diff compares with a revision of another conversation, too", async () => {
  const { conversation } = await talked();
  const fork = await conversation.fork();
  await fork.append("only here");
  const { added, removed, to } = await conversation.diff(-1, -1, { of: fork });
  expect(added.map(({ block }) => block.text)).toEqual(["only here"]);
  expect(removed).toEqual([]);
  expect(to.conversation).toBe(fork.id);
});

test("verify tells what it found right, and names damage", async () => {
  const { conversation, store } = await talked();
  const head = await conversation.head();
  const sound = await conversation.verify();
  expect(sound).toMatchObject({ isSound: true, streams: 1, events: (head?.revision ?? 0) + 1, requests: 2 });
  expect(sound.heads.get("conversation-cnv_workshop")).toEqual(head);
  await addUnheardEvent(store);
  const { isSound, problems } = await conversation.verify();
  expect(isSound).toBe(false);
  expect(problems).toMatchObject([{ conversation: "cnv_workshop", revision: (head?.revision ?? 0) + 1 }]);
});

test("a store verifies all that it holds, against heads that were kept elsewhere and against what its rows show", async () => {
  const { store, conversation } = await talked();
  await store.conversation("cnv_other").append("hello");
  await store.list();
  let seen = 0;
  const onEvent = (): void => {
    seen += 1;
  };
  const sound = await store.verify({ onEvent });
  expect(sound).toMatchObject({ isSound: true, streams: 2, events: seen, requests: 2 });
  const kept = new Map([...sound.heads, ["conversation-cnv_gone", { revision: 3, digest: "0".repeat(64) }]]);
  expect((await store.verify({ savedHeads: kept })).problems).toMatchObject([
    { conversation: "cnv_gone", kind: "head" },
  ]);
  const [build] = (await store.events.views?.builds("conversation-list")) ?? [];
  const key = `conversation-${conversation.id}`;
  const row = build === undefined ? null : await store.events.views?.row(build, key);
  if (build === undefined || row == null) throw new Error("the list has no row");
  await store.events.views?.save(build, { ...build, rows: [{ ...row, view: "{}" }] });
  expect((await store.verify()).problems).toMatchObject([{ conversation: conversation.id, kind: "view" }]);
});

test("whatIf leaves a layer out, asks no provider and changes nothing", async () => {
  const { conversation, engine, provider } = await talked();
  const head = await conversation.head();
  const { steps } = await whatIf(conversation, engine, { without: "loud", bodies: true });
  expect(steps.map(({ isSame }) => isSame)).toEqual([false, false]);
  expect(steps[0]?.otherwise?.bodyText).toContain("hello");
  expect(steps[0]?.otherwise?.bodyText).not.toContain("HELLO");
  expect((await whatIf(conversation, engine)).steps.every(({ isSame }) => isSame)).toBe(true);
  expect(await conversation.head()).toEqual(head);
  expect(provider.requests.length).toBe(2);
});

test("what can be looked at has types that a caller can import", () => {
  type Looked = Workshop["conversation"];
  expectTypeOf<Looked["head"]>().returns.resolves.toEqualTypeOf<Head | null>();
  expectTypeOf<Looked["walk"]>().returns.toEqualTypeOf<AsyncIterable<WalkedEvent>>();
  expectTypeOf<Looked["request"]>().returns.resolves.toEqualTypeOf<SentRequest>();
  expectTypeOf<Looked["why"]>().returns.resolves.toEqualTypeOf<RequestExplanation>();
  expectTypeOf<Looked["diff"]>().returns.resolves.toEqualTypeOf<ConversationDiff>();
  expectTypeOf<Looked["blame"]>().returns.resolves.toEqualTypeOf<BlameReport>();
  expectTypeOf<Looked["verify"]>().returns.resolves.toEqualTypeOf<Verification>();
  expectTypeOf(whatIf).returns.resolves.toEqualTypeOf<Counterfactual>();
});

/** Two exchanges under a layer that writes what the user said in capitals. */
async function talked() {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const loud = defineMiddleware({ name: "loud", version: "1.0.0" }, (next) => (turn) => {
    const quiet = turn.blocks.filter(({ kind, text }) => kind === "user" && text !== text.toUpperCase());
    return next(turn.replaceEach(quiet, (block) => block.withText(block.text.toUpperCase())));
  });
  const made = workshop.scripted(["hi", "yes", "well"], { middleware: [loud] });
  for (const text of ["hello", "more"]) {
    await conversation.append(text);
    await conversation.run(made.engine);
  }
  return { ...workshop, ...made };
}

/** An event of a kind that this turnlog does not know. */
async function addUnheardEvent({ log, events }: Workshop["store"]): Promise<void> {
  const stream = "conversation-cnv_workshop";
  const unheard = { event: { type: "Unheard", version: 1, data: {} }, actor: { kind: "app" } } as const;
  await log.append(stream, await events.head(stream), [unheard]);
}

async function walkOf(
  conversation: Workshop["conversation"],
  options?: Parameters<Workshop["conversation"]["walk"]>[0],
): Promise<readonly WalkedEvent[]> {
  const walked: WalkedEvent[] = [];
  for await (const event of conversation.walk(options)) walked.push(event);
  return walked;
}
