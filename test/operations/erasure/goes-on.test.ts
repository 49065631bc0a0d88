import { beforeEach, expect, test } from "vitest";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { whatIf } from "../../../src/replay/counterfactual.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { replayed } from "../../support/replayed.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;
const pin = "My PIN is 7302.";

let events: EventStore;
let store: TurnlogStore;
let model: ReturnType<typeof scripted>;
let talk: Conversation;

const answers = ["Noted.", "Fine.", "Good.", "Right.", "Well."];

/** Three exchanges: the second message is to be erased. */
beforeEach(async () => {
  events = createMemoryStore();
  store = new TurnlogStore(events);
  model = scripted(answers);
  talk = store.conversation("talk");
  for (const text of ["Hello.", pin, "What is the weather?"]) {
    await talk.append(text, { key: text });
    await talk.run(createEngine({ provider: model }));
  }
});

const blockOf = async (text: string): Promise<string> =>
  (await talk.turn()).blocks.find((block) => block.text === text)?.id ?? "";

async function erasePin() {
  const block = await blockOf(pin);
  const plan = await store.planErasure({ blocks: [{ conversation: "talk", block }] });
  return { plan, block, receipt: await store.erase(plan, why) };
}

async function problems(): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { problem } of verifyStore(events, { codecs })) if (problem !== null) found.push(problem.message);
  return found;
}

test("the block stays in its place with a stand-in; heads, contexts and all other blocks are as they were", async () => {
  const before = await talk.turn();
  const heads = (await talk.head())?.digest;
  const { receipt } = await erasePin();
  const after = await talk.turn();
  expect(after.digest).toBe(before.digest);
  expect(after.blocks.map(({ id, isErased }) => [id, isErased])).toEqual(
    before.blocks.map(({ id, text }) => [id, text === pin]),
  );
  expect(after.blocks.map(({ text }) => text)).toEqual(
    before.blocks.map(({ text }) => (text === pin ? "[erased]" : text)),
  );
  expect(receipt.conversations).toMatchObject([{ id: "talk", before: { digest: heads } }]);
  expect(await problems()).toEqual([]);
});

test("a process that held the conversation, and one that opens it, see the same", async () => {
  const held = new TurnlogStore(events).conversation("talk");
  expect((await held.turn()).blocks.some(({ text }) => text === pin)).toBe(true);
  await erasePin();
  await held.append("Are you still there?");
  const texts = (await held.turn()).blocks.map(({ text }) => text);
  expect(texts).not.toContain(pin);
  expect(texts).toEqual((await new TurnlogStore(events).conversation("talk").turn()).blocks.map(({ text }) => text));
});

test("the request that carried it cannot be made again, and all others can, byte for byte", async () => {
  const requests = [];
  for await (const { event, revision } of talk.events())
    if (event.type === "InferenceRequested") requests.push(revision);
  const bodies = await Promise.all(requests.map(async (revision) => (await talk.request(revision)).bodyText));
  await erasePin();
  const now = await Promise.all(
    requests.map((revision) =>
      talk.request(revision).then(
        ({ bodyText }) => bodyText,
        (error: unknown) => error,
      ),
    ),
  );
  expect(now).toEqual([bodies[0], expect.objectContaining({ code: "content-erased" }), bodies[2]]);
});

test("`why` gives no size of a whole request of which content was erased, and that of one that was sent whole", async () => {
  const sizes = async () => {
    const requests = [];
    for await (const { event, revision } of talk.events())
      if (event.type === "InferenceRequested") requests.push(revision);
    const explained = await Promise.all(requests.map((revision) => talk.why(revision)));
    return explained.map(({ fullBytes }) => fullBytes);
  };
  const [first, second, third] = await sizes();
  expect([first, second, third]).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
  await erasePin();
  expect(await sizes()).toEqual([first, null, null]);
});

test("blame says who erased a block, and still who made it", async () => {
  const { block } = await erasePin();
  const { blocks } = await talk.blame();
  const erased = blocks.filter((each) => each.erased !== null);
  expect(erased).toMatchObject([{ id: block, made: { actor: { kind: "user" } }, erased: { actor: { name: "dpo" } } }]);
  expect(erased[0]?.erased?.revision).toBe((await talk.head())?.revision);
});

test("the next run continues from what the server holds, and a whole request sends the stand-in", async () => {
  await erasePin();
  await talk.append("Go on.");
  await talk.run(createEngine({ provider: model }));
  expect(typeof model.requests.at(-1)?.["previous_response_id"]).toBe("string");
  await talk.append("And once more, please.");
  await talk.run(createEngine({ provider: model, mode: "stateless" }));
  const whole = JSON.stringify(model.requests.at(-1));
  expect(whole).toContain("[erased]");
  expect(whole).not.toContain("PIN is 7302");
  const { decision } = await talk.why();
  expect(decision.repairs).toEqual([{ rule: "erased", index: 2, detail: {} }]);
  expect(await problems()).toEqual([]);
});

test("a fork has the hole as well, made before or after, and goes on", async () => {
  const before = await talk.fork();
  await erasePin();
  const after = await talk.fork();
  for (const fork of [before, after]) {
    expect((await fork.turn()).blocks.map(({ text }) => text)).not.toContain(pin);
    await fork.append("Go on.");
    await fork.run(createEngine({ provider: model }));
  }
  expect(await problems()).toEqual([]);
});

test("a message that is delivered again after it was erased was delivered, and is not stored", async () => {
  await erasePin();
  const { isNew, blocks } = await talk.append(pin, { key: pin });
  expect([isNew, blocks[0]?.isErased]).toEqual([false, true]);
  for await (const { data } of events.readStream("conversation-talk")) expect(data).not.toContain("PIN is 7302");
});

test("the same text that is appended anew is a new block, and the next plan finds it", async () => {
  await erasePin();
  await talk.append(pin);
  const plan = await store.planErasure({ texts: [pin] });
  expect(plan.lines.flatMap(({ places }) => places.map(({ type }) => type))).toEqual(["BlockAppended"]);
});

test("a layer that kept the block from before the erasure, and hands it on, ends the run with erased-block", async () => {
  const kept = (await talk.turn()).blocks;
  await erasePin();
  await talk.append("Go on.");
  const stale = defineMiddleware(
    { name: "stale", version: "1" },
    (next) => (turn) => next(turn.with(turn.blocks.map((block) => kept.find(({ id }) => id === block.id) ?? block))),
  );
  const run = talk.run(createEngine({ provider: model, middleware: [stale] }));
  await expect(run).rejects.toMatchObject({ code: "run-failed", cause: { code: "erased-block" } });
  expect(JSON.stringify(model.requests.slice(3))).not.toContain("PIN is 7302");
});

test("a replay of the folds compares everything else; a run that read it is told as erased, and ends a counterfactual", async () => {
  const engine = createEngine({ provider: model });
  expect(await reexecute({ id: talk.id, log: store.log, codecs }, engine)).toMatchObject({ runs: 3, erased: 0 });
  await erasePin();
  expect((await replayed(store, talk)).difference).toBeNull();
  const again = await reexecute({ id: talk.id, log: store.log, codecs }, engine);
  expect(again).toMatchObject({ runs: 1, erased: 2, difference: null });
  const { steps, unknown } = await whatIf({ id: talk.id, log: store.log, codecs }, engine);
  expect(steps).toHaveLength(1);
  expect(unknown?.what).toContain("erased since");
});

test("what people read names the hole, and the search does not find it", async () => {
  const { block } = await erasePin();
  const { blocks } = await talk.blame();
  expect(blocks.find((each) => each.block.id === block)?.block.text).toBe("[erased]");
  expect((await store.search("7302")).hits).toEqual([]);
  expect((await store.search("erased")).hits).toEqual([]);
  const words = [];
  for await (const { event } of talk.events()) if (event.type === "LinesErased") words.push(event.data.blockIds);
  expect(words).toEqual([[block]]);
});

test("a copy carries the order, so that the hole is explained there as well, and goes on with the same names", async () => {
  await erasePin();
  const other = new TurnlogStore(createMemoryStore());
  const { copyConversations } = await import("../../../src/operations/transfer/copy.ts");
  await copyConversations(store, other);
  const found = [];
  for await (const { problem } of verifyStore(other.events, { codecs })) if (problem !== null) found.push(problem);
  expect(found).toEqual([]);
  await other.conversation("talk").append("Go on.");
  expect((await other.conversation("talk").turn()).blocks.map(({ text }) => text)).not.toContain(pin);
});
