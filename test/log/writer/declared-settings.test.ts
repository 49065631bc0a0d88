import fc from "fast-check";
import { expect, test } from "vitest";
import { objectOf, parseJson } from "../../../src/base/json.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { shortDeclaration, wholeSettings } from "../../../src/domain/declared-settings.ts";
import { settingsNameSchema } from "../../../src/domain/ids.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import type { EventStore, ReadStreamOptions } from "../../../src/log/ports/event-store.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { replayFolds } from "../../../src/replay/fold-replay.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { takeSnapshots } from "../../support/log/take-snapshots.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

const parameters = { type: "object", properties: { text: { type: "string", description: "x".repeat(4_000) } } };
const tools = Array.from({ length: 10 }, (_, n) => ({ type: "function", name: `tool-${n}`, parameters }));

/** An engine whose layer adds another line to the instructions in every run. */
function changingEngine() {
  let line = 0;
  const noting = defineMiddleware({ name: "noting", version: "1.0.0" }, (next) => (turn, context) => {
    line += 1;
    context.instructions(`Line ${line}.`);
    return next(turn);
  });
  const provider = scripted(() => "so it is", { settings: { model: "scripted", instructions: "Be brief.", tools } });
  return createEngine({ provider, middleware: [noting] });
}

/** The bytes of what declares settings in a conversation. */
async function declaredBytes(store: TurnlogStore, id: string): Promise<readonly number[]> {
  const declared = dataOf(await eventsOf(store.conversation(id)), "SettingsDeclared");
  return declared.map((data) => JSON.stringify(data).length);
}

async function mustBeSound(store: TurnlogStore, id: string): Promise<void> {
  expect(await store.verify()).toMatchObject({ isSound: true });
  expect((await replayFolds(store.conversation(id))).difference).toBeNull();
}

test("of settings of which a line changes in every run, only what differs is recorded", async () => {
  const events = createMemoryStore();
  const engine = changingEngine();
  for (let run = 0; run < 6; run += 1) {
    // Each run in a process of its own, and once from a snapshot.
    const conversation = new TurnlogStore(events).conversation("cnv_1");
    await conversation.append(`Message ${run}.`);
    expect(await conversation.run(engine)).toMatchObject({ text: "so it is" });
    if (run === 3) await takeSnapshots(events, "conversation-cnv_1", { events: 5, edits: 5 });
  }
  const store = new TurnlogStore(events);
  const [first = 0, ...others] = await declaredBytes(store, "cnv_1");
  expect(first).toBeGreaterThan(40_000);
  expect(others).toHaveLength(6);
  expect(Math.max(...others)).toBeLessThan(500);
  await mustBeSound(store, "cnv_1");
});

test("a fork continues from what its parent declared", async () => {
  const store = new TurnlogStore(createMemoryStore());
  const engine = changingEngine();
  const parent = store.conversation("cnv_1");
  await parent.append("Message.");
  await parent.run(engine);
  const fork = await parent.fork(-1, { id: "cnv_fork" });
  await fork.append("And here?");
  await fork.run(engine);
  expect(await declaredBytes(store, "cnv_fork")).toEqual([expect.closeTo(300, -3)]);
  await mustBeSound(store, "cnv_fork");
});

function damagedAt(events: EventStore, revision: number): EventStore {
  return {
    ...events,
    async *readStream(name: string, options?: ReadStreamOptions) {
      for await (const envelope of events.readStream(name, options))
        yield envelope.revision === revision && name === "conversation-cnv_1" ? { ...envelope, data: "{" } : envelope;
    },
  };
}

test("what differs from a declaration that an operator skipped is declared again", async () => {
  const events = createMemoryStore();
  const engine = changingEngine();
  const before = new TurnlogStore(events).conversation("cnv_1");
  await before.append("Message.");
  await before.run(engine);
  const declared = (await eventsOf(before)).findIndex(({ event }) => event.type === "SettingsDeclared");
  const damaged = damagedAt(events, declared);
  const conversation = new TurnlogStore(damaged).conversation("cnv_1");
  await conversation.skipEvent(declared, "half written");
  await conversation.append("And now?");
  expect(await conversation.run(engine)).toMatchObject({ text: "so it is" });
  const sound = new TurnlogStore(events).conversation("cnv_1");
  const sizes = dataOf(await eventsOf(sound), "SettingsDeclared").map((data) => JSON.stringify(data).length);
  expect(sizes.at(-2)).toBeGreaterThan(40_000);
  expect(sizes.at(-1)).toBeLessThan(500);
});

test("a request whose settings an operator skipped is damaged: why gives no size in full, and no body is made of what is left", async () => {
  const events = createMemoryStore();
  const engine = changingEngine();
  const before = new TurnlogStore(events).conversation("cnv_1");
  for (const message of ["Message.", "And now?"]) {
    await before.append(message);
    await before.run(engine);
  }
  const types = (await eventsOf(before)).map(({ event }) => event.type);
  const [declared, asked] = [types.lastIndexOf("SettingsDeclared"), types.lastIndexOf("InferenceRequested")];
  expect((await before.why(asked)).fullBytes).toBeGreaterThan(40_000);
  const conversation = new TurnlogStore(damagedAt(events, declared)).conversation("cnv_1");
  await conversation.skipEvent(declared, "half written");
  await expect(conversation.request(asked)).rejects.toMatchObject({ code: "store-corrupted" });
  expect(await conversation.why(asked)).toMatchObject({ revision: asked, fullBytes: null });
});

const settings = fc
  .dictionary(fc.constantFrom("model", "a", "b", "c", "d"), fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true })
  // As the log gives them back.
  .map((given) => objectOf(parseJson(JSON.stringify(given))));

const name = (digit: string) => settingsNameSchema.parse(digit.repeat(64));

test("what is declared short is read whole, to the order of its members", () => {
  fc.assert(
    fc.property(settings, settings, (base, next) => {
      const declared = shortDeclaration({ digest: name("d"), settings: next }, { digest: name("b"), settings: base });
      const whole = wholeSettings(declared, (digest) => (digest === name("b") ? base : undefined));
      expect(JSON.stringify(whole)).toBe(JSON.stringify(next));
    }),
  );
});
