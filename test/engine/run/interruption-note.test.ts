import { expect, test } from "vitest";
import { message as said } from "../../../packages/reference-server/src/answers.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { type ScriptedAnswerer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { type DialectName, dialectNames, dialects } from "../../support/dialects.ts";
import { layer } from "../../support/run/scene.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { createWorkshop, dataOf, eventsOf, typesOf, type WorkshopOptions } from "../../support/workshop.ts";

const interrupted = "[Your last answer was interrupted before it was finished. It is not part of this conversation.]";
const cutOff =
  "[Your last answer was cut off by an error before it was finished. It is not part of this conversation.]";

const longAnswer = "a long answer ".repeat(20);

/** Answers at length, in pieces. */
const talkative: ScriptedAnswerer = ({ requestNumber }) => `${longAnswer}${requestNumber}`;

function createChat(note?: boolean | string, answers: ScriptedAnswerer = talkative, options: WorkshopOptions = {}) {
  const workshop = createWorkshop(options);
  const provider = scripted(answers);
  const config = { provider, ...(note === undefined ? {} : { interruptionNote: note }) };
  /** The user presses Escape as soon as something has come. */
  const interrupt = async (
    asked: { readonly again?: true } = {},
    on: RunPart["type"] = "text-delta",
  ): Promise<void> => {
    const abort = new AbortController();
    const stop = (): void => {
      abort.abort();
    };
    const engine = createEngine({ ...config, observers: [{ next: ({ type }) => (type === on ? stop() : undefined) }] });
    const cancelled = workshop.conversation.run(engine, { ...asked, signal: abort.signal });
    await expect(cancelled).rejects.toMatchObject({ code: "run-cancelled" });
  };
  return { ...workshop, provider, engine: createEngine(config), interrupt };
}

const textsOf = async (conversation: Conversation) => (await conversation.turn()).blocks.map(({ text }) => text);

test("the request after a cancelled run tells the model, and what had arrived is on record", async () => {
  const { conversation, engine, provider, interrupt } = createChat(true);
  await conversation.append("one");
  await interrupt();
  expect(await textsOf(conversation)).toEqual(["one"]);
  const [failed] = dataOf(await eventsOf(conversation), "InferenceFailed");
  expect(JSON.stringify(failed?.partial)).toContain("a long");
  await conversation.append("two");
  const { text } = await conversation.run(engine);
  expect(provider.requests.at(-1)?.["input"]).toMatchObject([
    { role: "user", content: [{ text: "one" }] },
    { role: "user", content: [{ text: "two" }] },
    { role: "user", content: [{ text: interrupted }] },
  ]);
  expect(await textsOf(conversation)).toEqual(["one", "two", interrupted, text]);
  const note = (await eventsOf(conversation)).findLast(({ event }) => event.type === "BlockAppended");
  expect(note?.actor).toEqual({ kind: "engine" });
});

test("no note is added unless the engine has one, and the note has the given text", async () => {
  const off = createChat();
  await off.conversation.append("one");
  await off.interrupt();
  await off.conversation.run(off.engine);
  expect(await textsOf(off.conversation)).toEqual(["one", `${longAnswer}1`]);
  const other = createChat("Stop. I have cut you short.");
  await other.conversation.append("one");
  await other.interrupt();
  await other.conversation.run(other.engine);
  expect(await textsOf(other.conversation)).toEqual(["one", "Stop. I have cut you short.", `${longAnswer}1`]);
});

test.each([0, "", {}])("createEngine refuses %j as a note", (interruptionNote) => {
  const config: object = { provider: scripted([]), interruptionNote };
  expect(() => createEngine({ provider: scripted([]), ...config })).toThrow(
    /^createEngine: interruptionNote is .*: give true, false, or the text for the model$/,
  );
});

test("a request that its server refused interrupted no answer; an answer that was cut off is noted as an error", async () => {
  const { conversation, engine, provider } = createChat(true, ({ requestNumber }) => {
    if (requestNumber === 0) return { error: { status: 400, message: "no" } };
    return requestNumber === 1 ? { error: { status: 500, message: "oh" } } : "fine";
  });
  await conversation.append("one");
  await expect(conversation.run(engine)).rejects.toMatchObject({ code: "run-failed" });
  expect(await textsOf(conversation)).toEqual(["one"]);
  await expect(conversation.run(engine)).rejects.toMatchObject({ code: "run-failed" });
  expect(provider.requests[1]?.["input"]).toMatchObject([{ content: [{ text: "one" }] }]);
  expect(await textsOf(conversation)).toEqual(["one"]);
  await conversation.run(engine);
  expect(await textsOf(conversation)).toEqual(["one", cutOff, "fine"]);
});

test("a run that was cancelled before it asked interrupted no answer", async () => {
  const { conversation, engine, provider } = createChat(true);
  await conversation.append("one");
  const abort = new AbortController();
  const leave = layer("leave", (turn, next) => {
    abort.abort();
    return next(turn);
  });
  const left = createEngine({ provider, middleware: [leave], interruptionNote: true });
  await expect(conversation.run(left, { signal: abort.signal })).rejects.toMatchObject({ code: "run-cancelled" });
  await conversation.run(engine);
  expect(await textsOf(conversation)).toEqual(["one", `${longAnswer}0`]);
});

test("retries that broke off are noted once in a row, and once more after another message", async () => {
  const { conversation, engine, interrupt } = createChat(true);
  await conversation.append("one");
  for (let n = 0; n < 3; n += 1) await interrupt();
  expect(await textsOf(conversation)).toEqual(["one", interrupted]);
  await conversation.append("two");
  await interrupt();
  await conversation.run(engine);
  expect(await textsOf(conversation)).toEqual(["one", interrupted, "two", interrupted, `${longAnswer}4`]);
  await conversation.append("three");
  await conversation.run(engine);
  expect((await textsOf(conversation)).slice(-2)).toEqual(["three", `${longAnswer}5`]);
});

test("a crash between the note and the run leaves one note, which waits for no answer", async () => {
  const { conversation, engine, provider, interrupt } = createChat(true);
  await conversation.append("one");
  const first = await conversation.run(engine);
  await interrupt({ again: true });
  const asked = provider.requests.length;
  // The first thing that a step stops at is the run's own first append.
  for await (const _ of conversation.step(engine, { again: true })) break;
  expect(await textsOf(conversation)).toEqual(["one", interrupted].toSpliced(1, 0, first.text));
  const written = typesOf(await eventsOf(conversation));
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text: first.text });
  expect(provider.requests).toHaveLength(asked);
  expect(typesOf(await eventsOf(conversation))).toEqual(written);
  const again = await conversation.run(engine, { again: true });
  expect(await textsOf(conversation)).toEqual(["one", first.text, interrupted, again.text]);
});

test("a message is answered once, whether its first run was interrupted or not", async () => {
  const { conversation, engine, provider, interrupt } = createChat(true);
  await conversation.append("one", { key: "m1" });
  await interrupt();
  const { text } = await conversation.run(engine, { key: "m1" });
  const asked = provider.requests.length;
  expect(await conversation.run(engine, { key: "m1" })).toMatchObject({ isNew: false, text });
  expect(await conversation.run(engine)).toMatchObject({ isNew: false, text });
  expect(provider.requests).toHaveLength(asked);
});

test("a fork notes an interruption before it, or a run that it begins in, once for each branch", async () => {
  const { conversation, engine, interrupt } = createChat(true);
  await conversation.append("one");
  await interrupt();
  const events = await eventsOf(conversation);
  const asked = events.findIndex(({ event }) => event.type === "InferenceRequested");
  for (const revision of [asked, events.length - 1]) {
    const fork = await conversation.fork(revision);
    await fork.run(engine);
    expect((await textsOf(fork)).slice(0, 2)).toEqual(["one", interrupted]);
  }
  await conversation.run(engine);
  expect(await textsOf(conversation)).toHaveLength(3);
  const later = await conversation.fork();
  await later.append("two");
  await later.run(engine);
  expect((await textsOf(later)).filter((text) => text === interrupted)).toHaveLength(1);
});

test("a revert to before the interruption leaves no note of it", async () => {
  const { conversation, engine, interrupt } = createChat(true);
  await conversation.append("one");
  const { text } = await conversation.run(engine);
  await conversation.append("two");
  await interrupt();
  await conversation.revertToExchange(0);
  await conversation.append("three");
  await conversation.run(engine);
  expect((await textsOf(conversation)).slice(0, 3)).toEqual(["one", text, "three"]);
});

test("an interrupted summary is not an interrupted answer, and no note comes before a summary", async () => {
  const { conversation, engine } = createChat(true);
  for (const text of ["one", "two"]) {
    await conversation.append(text);
    await conversation.run(engine);
  }
  const abort = new AbortController();
  const stopping = scripted(() => {
    abort.abort();
    return "a summary";
  });
  const asked = conversation.compact(createEngine({ provider: stopping }), { keep: 1, signal: abort.signal });
  await expect(asked).rejects.toMatchObject({ code: "run-cancelled" });
  await conversation.append("three");
  await conversation.run(engine);
  expect(await textsOf(conversation)).not.toContain(interrupted);
});

test("another process knows from a snapshot that the note is still due", async () => {
  const path = temporaryFolder().file("turnlog.db");
  const before = createChat(true, talkative, { events: await openSqliteStore(path) });
  await before.conversation.append("one");
  // Enough for a snapshot, which is taken once no run is open.
  for (let n = 0; n < 520; n += 1) await before.conversation.relabel({ title: `title ${n}` });
  await before.interrupt();
  await before.store.close();
  const after = createWorkshop({ events: await openSqliteStore(path) });
  await after.conversation.run(before.engine);
  expect((await textsOf(after.conversation)).slice(0, 2)).toEqual(["one", interrupted]);
  await after.store.close();
});

test.each(dialectNames)("the model reads it on the wire of %s", async (name: DialectName) => {
  const dialect = dialects[name];
  const abort = new AbortController();
  let lines: readonly string[] = [];
  await using front = await dialect.start((question) => {
    ({ lines } = question());
    abort.abort();
    return { output: [said(longAnswer)] };
  });
  const engine = createEngine({
    provider: dialect.provider(front.url, { model: "gpt-5.4", transport: "sse" }),
    interruptionNote: true,
  });
  const { conversation } = createWorkshop({ codecs: dialect.codecs });
  await conversation.append("one");
  await expect(conversation.run(engine, { signal: abort.signal })).rejects.toMatchObject({ code: "run-cancelled" });
  await conversation.append("two");
  await conversation.run(engine);
  expect(lines.at(-1)).toMatch(/^user /);
  expect(front.requests.at(-1)?.bodyText).toContain(interrupted);
});
