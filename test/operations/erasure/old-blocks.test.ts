import { beforeEach, expect, test } from "vitest";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Block } from "../../../src/domain/block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { backUpStore } from "../../../src/stores/sqlite/backup.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;
const pin = "My PIN is 7302.";
const refused = { code: "run-failed", cause: { code: "erased-block" } };

let events: EventStore;
let talk: Conversation;
/** The blocks that a layer still has from before the erasure. */
let kept: { readonly pin: Block; readonly hello: Block };

/** Another process on the same store. */
const process = (): TurnlogStore => new TurnlogStore({ ...events, [Symbol.asyncDispose]: () => events.close() });

beforeEach(async () => {
  events = createMemoryStore();
  talk = process().conversation("talk");
  for (const text of ["Hello.", pin]) await talk.append(text);
  const [hello, second] = (await talk.turn()).blocks;
  if (hello === undefined || second === undefined) throw new Error("it has two blocks");
  kept = { hello, pin: second };
});

async function erasePin(by = process()): Promise<void> {
  await by.erase(await by.planErasure({ texts: [pin] }), why);
}

/** A run with a layer that changes the Turn, and what its model was asked. */
async function runWith(change: (turn: Turn) => Turn, conversation = talk): Promise<string> {
  const model = scripted(["Fine.", "Good."]);
  const layer = defineMiddleware({ name: "memory", version: "1" }, (next) => (turn) => next(change(turn)));
  await conversation.append("Go on.");
  await conversation.run(createEngine({ provider: model, middleware: [layer] }));
  return JSON.stringify(model.requests);
}

/** A layer takes the block out of the Turn. */
async function takeOut(): Promise<void> {
  await runWith((turn) => turn.with(turn.blocks.filter(({ id }) => id !== kept.pin.id)));
  expect((await talk.turn()).blocks.map(({ id }) => id)).not.toContain(kept.pin.id);
}

async function expectNothingLeft(): Promise<void> {
  for await (const { data } of events.readLog()) expect(data).not.toContain("PIN is 7302");
}

test("an erased block that a layer adds beside its place, from its memory, ends the run", async () => {
  await erasePin();
  for (const change of [
    (turn: Turn) => turn.append(kept.pin),
    (turn: Turn) => turn.with([kept.pin, ...turn.blocks]),
    (turn: Turn) => turn.append(kept.pin.withText(`${pin} Really.`)),
  ])
    await expect(runWith(change)).rejects.toMatchObject(refused);
  await expectNothingLeft();
});

test("it ends the run also where the Turn has the block no more", async () => {
  await takeOut();
  await erasePin();
  await expect(runWith((turn) => turn.append(kept.pin))).rejects.toMatchObject(refused);
  await expectNothingLeft();
});

test("it ends the run also after later erasures, and in a fork", async () => {
  await takeOut();
  const fork = await talk.fork();
  await erasePin();
  await talk.append("And this goes as well.");
  const by = process();
  await by.erase(await by.planErasure({ texts: ["this goes as well"] }), why);
  for (const conversation of [talk, fork])
    await expect(runWith((turn) => turn.append(kept.pin), conversation)).rejects.toMatchObject(refused);
  await expectNothingLeft();
});

test("it ends the run also if the conversation is opened from a snapshot that was taken after the erasure", async () => {
  const store = process();
  const old = (await (await store.conversation("talk").at(-1)).content()).blocks.at(-1);
  if (old === undefined) throw new Error("the block is there");
  await takeOut();
  await erasePin();
  await takeSnapshots(events, "conversation-talk", { events: 1, edits: 1 });
  const again = store.conversation("talk");
  await expect(runWith((turn) => turn.append(old), again)).rejects.toMatchObject(refused);
  await expectNothingLeft();
});

test("a block from before the erasure that was not erased may be handed on, wherever the layer wants it", async () => {
  await erasePin();
  expect(await runWith((turn) => turn.append(kept.hello))).toContain("Hello.");
  expect(await runWith((turn) => turn.with([...turn.blocks.slice(2), kept.hello]))).toContain("Hello.");
});

test("an erased block may be given another text in its place", async () => {
  await erasePin();
  const asked = await runWith((turn) =>
    turn.with(turn.blocks.map((block) => (block.isErased ? block.withText("(the PIN was erased)") : block))),
  );
  expect(asked).toContain("(the PIN was erased)");
});

test("a copy of the store where nothing was erased goes on, in the same process", async () => {
  const folder = temporaryFolder();
  const [file, copy] = [folder.file("turnlog.db"), folder.file("copy.db")];
  await using store = await openStore(`sqlite:${file}`);
  await store.conversation("talk").append(pin);
  backUpStore(file, copy);
  await using other = await openStore(`sqlite:${copy}`);
  await other.conversation("talk").turn();
  await erasePin(store);
  const marked = (turn: Turn) => turn.with(turn.blocks.map((block) => block.withText(`${block.text} (said)`)));
  expect(await runWith(marked, store.conversation("talk"))).not.toContain("7302");
  expect(await runWith(marked, other.conversation("talk"))).toContain(`${pin} (said)`);
});
