import { expect, test } from "vitest";
import * as z from "zod";
import { redactEmails } from "../../examples/redact-emails.ts";
import { type Block, idOf } from "../../src/domain/block.ts";
import { assistant, image, text, user } from "../../src/domain/make-block.ts";
import { defineMiddleware, type Layer } from "../../src/engine/ports/middleware.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import { reexecute } from "../../src/entries/replay.ts";
import { type LensPlace, lens } from "../../src/middleware/lens.ts";
import type { ScriptedAnswer } from "../../src/providers/scripted/scripted.ts";
import { createWorkshop, dataOf, eventsOf } from "../support/workshop.ts";

/** Hides the word "secret" behind "[1]", in whatever a block says. */
const secrets = (): Layer =>
  lens({
    name: "secrets",
    version: "1.0.0",
    hide: (block) => replaced(block, "secret", "[1]"),
    restore: (block) => replaced(block, "[1]", "secret"),
  });

const replaced = (block: Block, from: string, to: string): Block =>
  block.text.includes(from) ? block.withText(block.text.replaceAll(from, to)) : block;

async function talk(
  middleware: readonly Layer[],
  rounds: readonly (readonly [said: string, answer: ScriptedAnswer])[],
) {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(
    rounds.map(([, answer]) => answer),
    { middleware, tools: [repeat] },
  );
  for (const [said] of rounds) {
    await conversation.append(said);
    await conversation.run(engine);
  }
  const turn = await conversation.turn();
  return {
    conversation,
    provider,
    turn,
    texts: turn.blocks.map((block) => block.text),
    events: await eventsOf(conversation),
  };
}

const repeat = tool({
  name: "repeat",
  description: "",
  inputSchema: z.object({ say: z.string() }),
  execute: ({ say }) => say,
});

test("the model reads what is shown, the client keeps what is meant", async () => {
  const { provider, texts } = await talk([secrets()], [["the secret", "I read [1]"]]);
  expect(JSON.stringify(provider.reading(0))).not.toContain("secret");
  expect(texts).toEqual(["the secret", "I read secret"]);
});

test("what was hidden comes back as the very block, so its author stays", async () => {
  const given: (Block | undefined)[] = [];
  const looking = defineMiddleware({ name: "looking", version: "1.0.0" }, (next) => async (turn) => {
    const result = await next(turn);
    given.push(turn.at(0), result.at(0));
    return result;
  });
  const { conversation, turn } = await talk([looking, secrets()], [["the secret", "fine"]]);
  expect(given[0]).toBe(given[1]);
  const past = await (await conversation.at(-1)).load();
  const [said] = turn.blocks;
  expect(
    said && past.blame(idOf(said))?.versions.find(({ digest }) => digest === said.recordedAs)?.change.actor,
  ).toEqual({
    kind: "user",
  });
});

test("an answer that was restored is the layer's words in the provider's block", async () => {
  const { conversation, turn } = await talk([secrets()], [["hello", "the [1]"]]);
  const blame = turn.last && (await (await conversation.at(-1)).load()).blame(idOf(turn.last));
  expect(blame?.made.actor.kind).toBe("provider");
  expect(blame?.versions.map(({ change }) => change.actor.kind)).toEqual(["provider", "middleware"]);
});

test("a block without anything to hide is passed and returned as it is, and nothing is written", async () => {
  const { events } = await talk([secrets()], [["hello", "hi"]]);
  expect(dataOf(events, "TurnEdited").filter(({ edits }) => edits.length > 0)).toEqual([]);
});

test("what the client said stays as it is, although it looks like something hidden", async () => {
  const { texts, provider } = await talk([secrets()], [["what does [1] mean?", "nothing"]]);
  expect(texts[0]).toBe("what does [1] mean?");
  expect(JSON.stringify(provider.reading(0))).toContain("[1]");
});

test("requests stay chained, through tools and rounds", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const answers = [
    { calls: [{ name: "repeat", arguments: { say: "[1] again" } }] },
    "[1], and again",
    "as [1] as ever",
  ];
  const { engine, provider } = workshop.scripted(answers, { middleware: [secrets()], tools: [repeat] });
  for (const said of ["the secret", "once more: secret"]) {
    await conversation.append(said);
    await conversation.run(engine);
  }
  const requests = dataOf(await eventsOf(conversation), "InferenceRequested");
  expect(requests.map(({ decision }) => decision.strategy)).toEqual(["full", "chained", "chained"]);
  expect((await conversation.turn()).blocks.map((block) => block.text)).toEqual([
    ...["the secret", '{"say":"secret again"}', "secret again", "secret, and again"],
    ...["once more: secret", "as secret as ever"],
  ]);
  expect(JSON.stringify(provider.reading(2))).not.toContain("secret");
});

test("blocks are hidden once, however often they are sent", async () => {
  const hidden: string[] = [];
  const counting = lens({
    name: "counting",
    version: "1.0.0",
    hide: (block) => {
      hidden.push(block.text);
      return block;
    },
  });
  await talk(
    [counting],
    [
      ["one", "two"],
      ["three", "four"],
      ["five", "six"],
    ],
  );
  expect(hidden).toEqual(["one", "two", "three", "four", "five"]);
});

test("an edit of a hidden block by a layer within is restored", async () => {
  const within = defineMiddleware(
    { name: "within", version: "1.0.0" },
    (next) => async (turn) =>
      (await next(turn)).map((block) => (block.kind === "user" ? block.withText(`${block.text}!`) : block)),
  );
  const { texts } = await talk([secrets(), within], [["the secret", "fine"]]);
  expect(texts).toEqual(["the secret!", "fine"]);
});

test("reasoning is kept as the provider gave it, and the chain with it", async () => {
  const { turn, events } = await talk(
    [secrets()],
    [
      ["the secret", { reasoning: "about [1]", text: "one [1]" }],
      ["and?", "two"],
    ],
  );
  expect(turn.blocks.find(({ kind }) => kind === "reasoning")?.text).toBe("about [1]");
  expect(dataOf(events, "InferenceRequested").map(({ decision }) => decision.strategy)).toEqual(["full", "chained"]);
});

test("what was restored of an answer goes back to the provider as its own item", async () => {
  const sent: (Block | undefined)[] = [];
  const innermost = defineMiddleware({ name: "innermost", version: "1.0.0" }, (next) => (turn) => {
    sent.push(turn.at(1));
    return next(turn);
  });
  const call: ScriptedAnswer = { calls: [{ name: "repeat", arguments: { say: "[1]" } }] };
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted([call, "done"], { middleware: [secrets(), innermost], tools: [repeat] });
  await conversation.append("the secret");
  await conversation.run(engine);
  expect(sent[1]).toMatchObject({ kind: "tool_call", arguments: '{"say":"[1]"}' });
  expect(sent[1]?.wire?.itemId).toMatch(/^fc_/);
});

test("a hidden form may be one block for all, or a draft", async () => {
  const same = assistant("[withheld]");
  const withheld = lens({
    name: "withheld",
    version: "1.0.0",
    hide: ({ kind }) => (kind === "user" ? same : assistant("?")),
  });
  const { texts, provider } = await talk(
    [withheld],
    [
      ["one", "two"],
      ["three", "four"],
    ],
  );
  expect(texts).toEqual(["one", "two", "three", "four"]);
  expect(JSON.stringify(provider.reading(1))).not.toMatch(/one|three/);
});

test("the example hides addresses in every part and every kind of block", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const send = tool({
    name: "send",
    description: "",
    inputSchema: z.object({ to: z.string() }),
    execute: ({ to }) => `sent to ${to}`,
  });
  const answers: readonly ScriptedAnswer[] = [
    { calls: [{ name: "send", arguments: { to: "<email-1>" } }] },
    "It went to <email-1>, not to <email-2>.",
  ];
  const { engine, provider } = workshop.scripted(answers, { tools: [send], middleware: [redactEmails()] });
  await conversation.append(
    user([text("Write to ada@example.com, not to bob@example.org"), image("https://example.com/a.png")]),
  );
  const { turn: readTurn, steps } = await conversation.run(engine);
  const turn = await readTurn();
  expect(turn.blocks.map((block) => block.text)).toEqual([
    "Write to ada@example.com, not to bob@example.org",
    '{"to":"ada@example.com"}',
    "sent to ada@example.com",
    "It went to ada@example.com, not to bob@example.org.",
  ]);
  expect(turn.at(0)?.parts).toHaveLength(2);
  expect(JSON.stringify(provider.reading(1))).not.toMatch(/@/);
  expect(steps.map(({ decision }) => decision.strategy)).toEqual(["full", "chained"]);
});

test("two conversations on one engine: neither reads an address that only the other has said", async () => {
  const { store, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(
    ["Noted: <email-1>.", "Noted: <email-1>.", "It is <email-1>, not <email-2>.", "It is <email-1>, not <email-2>."],
    { middleware: [redactEmails()] },
  );
  const [ann, bob] = [store.conversation("cnv_ann_0001"), store.conversation("cnv_bob_0001")];
  await ann.append("I am ann@example.com.\nnot.ann@example.com is another.");
  await bob.append("I am bob@example.com.");
  const first = await ann.run(engine);
  expect([first.text, (await bob.run(engine)).text]).toEqual(["Noted: ann@example.com.", "Noted: bob@example.com."]);
  for (const conversation of [ann, bob]) await conversation.append("What is my address?");
  const second = await ann.run(engine);
  expect(second.text).toBe("It is ann@example.com, not not.ann@example.com.");
  expect((await bob.run(engine)).text).toBe("It is bob@example.com, not <email-2>.");
  expect(second.steps.map(({ decision }) => decision.strategy)).toEqual(["chained"]);
  expect(provider.requests.map((_, n) => JSON.stringify(provider.reading(n))).join()).not.toContain("@example");
});

test("hide and restore get the conversation and the client's blocks before a place, and are called once for each place", async () => {
  const asked: string[] = [];
  const note = (what: string) => (block: Block, place: LensPlace) => {
    asked.push(`${what} ${place.conversationId} ${place.before.map((each) => each.text).join(", ")} | ${block.text}`);
    return block.kind === "user" ? block.withText(`hidden ${place.before.length}`) : block;
  };
  const { conversation, ...workshop } = createWorkshop();
  const placed = lens({ name: "placed", version: "1.0.0", hide: note("hide"), restore: note("restore") });
  const { engine, provider } = workshop.scripted(["one", "two"], { middleware: [placed] });
  await conversation.append("a");
  await conversation.run(engine);
  await conversation.append("b");
  await conversation.run(engine);
  const { id } = conversation;
  expect(asked).toEqual([
    ...[`hide ${id}  | a`, `restore ${id} a | one`],
    ...[`hide ${id} a | one`, `hide ${id} a, one | b`, `restore ${id} a, one, b | two`],
  ]);
  expect(JSON.stringify(provider.reading(1))).toContain("hidden 2");
});

test("a block is hidden again if another block precedes it than before", async () => {
  const count = lens({
    name: "count",
    version: "1.0.0",
    hide: (block, { before }) => (block.kind === "user" ? block.withText(`user ${before.length}`) : block),
  });
  let isShort = false;
  const shorten = defineMiddleware({ name: "shorten", version: "1.0.0" }, (next) => async (turn) => {
    const result = await next(isShort ? turn.filter((block) => block.text !== "a") : turn);
    return result;
  });
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(["one", "two", "three"], { middleware: [shorten, count] });
  for (const said of ["a", "b", "c"]) {
    isShort = said === "c";
    await conversation.append(said);
    await conversation.run(engine);
  }
  const read = provider.reading(2).flatMap(({ content }) => JSON.stringify(content).match(/user \d/g) ?? []);
  expect(read).toEqual(["user 1", "user 3"]);
});

test("a later run sends the same bytes when another process executes it again, although it knows only the Turn", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted(["the [1]", "fine", "a summary"], { middleware: [secrets()] });
  for (const said of ["the secret", "once more"]) {
    await conversation.append(said);
    await conversation.run(engine);
  }
  // The summary is asked for with a whole request, which has the first answer.
  await conversation.compact(engine, { summary: {}, keep: 1 });
  const { engine: other } = workshop.scripted([], { middleware: [secrets()] });
  expect(await reexecute(conversation, other)).toMatchObject({ runs: 3, difference: null });
});
