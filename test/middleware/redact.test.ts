import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { toolCall, toolResult, user } from "../../src/domain/make-block.ts";
import { defineMiddleware, type Layer } from "../../src/engine/ports/middleware.ts";
import { tool } from "../../src/engine/ports/tool.ts";
import { reexecute } from "../../src/entries/replay.ts";
import { redact } from "../../src/middleware/redact.ts";
import type { ScriptedQuestion } from "../../src/providers/scripted/scripted.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../support/workshop.ts";

const ada = "ada@example.com";
const bob = "bob@example.org";

/** The first placeholder of a kind in what the model reads. */
const placeholderIn = ({ context }: Pick<ScriptedQuestion, "context">, kind = "email"): string =>
  new RegExp(`\\[${kind}-[0-9a-f]+\\]`).exec(JSON.stringify(context))?.[0] ?? "[none]";

const emails = (): Layer => redact({ detect: ["email"] });

test("the model reads a placeholder, and the client reads the value in the answer", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted([(asked) => `I write to ${placeholderIn(asked)}.`, "done"], {
    middleware: [emails()],
  });
  await conversation.append(`Write to ${ada}.`);
  expect((await conversation.run(engine)).text).toBe(`I write to ${ada}.`);
  await conversation.append("And now?");
  const { steps } = await conversation.run(engine);
  expect(steps.map(({ decision }) => decision.strategy)).toEqual(["chained"]);
  expect(JSON.stringify(provider.requests)).not.toContain(ada);
  expect((await reexecute(conversation, engine)).difference).toBeNull();
});

test("a tool gets the value, and the model a placeholder of what the tool returns", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const got: string[] = [];
  const mail = tool({
    name: "mail",
    description: "",
    inputSchema: z.object({ to: z.string() }),
    execute: ({ to }) => {
      got.push(to);
      return { sent: to, copy: bob };
    },
  });
  const { engine, provider } = workshop.scripted(
    [(asked) => ({ calls: [{ name: "mail", arguments: { to: placeholderIn(asked) } }] }), "done"],
    { middleware: [emails()], tools: [mail] },
  );
  await conversation.append(`Write to ${ada}.`);
  await conversation.run(engine);
  expect(got).toEqual([ada]);
  expect(JSON.stringify(provider.requests)).not.toMatch(/@example/);
  expect((await conversation.turn()).blocks.map(({ text }) => text)).toContain(
    JSON.stringify({ sent: ada, copy: bob }),
  );
});

test("a value with quotes stays one in the JSON of a call's arguments, in both directions", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const name = 'Ann "the\\cat" O\u2019Neill';
  const greet = tool({
    name: "greet",
    description: "",
    inputSchema: z.object({ who: z.string() }),
    execute: ({ who }) => `greeted ${who}`,
  });
  const layer = redact({ detect: [{ kind: "name", find: (text) => (text.includes(name) ? [name] : []) }] });
  const { engine, provider } = workshop.scripted(
    [(asked) => ({ calls: [{ name: "greet", arguments: { who: `dear ${placeholderIn(asked, "name")}` } }] }), "done"],
    { middleware: [layer], tools: [greet] },
  );
  await conversation.append(`Greet ${name}, please, in JSON: ${JSON.stringify({ name })}`);
  const { steps } = await conversation.run(engine);
  expect((await conversation.turn()).blocks.map(({ text }) => text)).toContain(`greeted dear ${name}`);
  expect(JSON.stringify(provider.requests)).not.toContain("Ann");
  expect(steps.map(({ decision }) => decision.strategy)).toEqual(["full", "chained"]);
});

test("a value that a detector found once is hidden from there on, also where no detector finds it", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const layer = redact({
    detect: [{ kind: "name", find: (text) => [...(/my name is (\w+)/.exec(text)?.slice(1) ?? [])] }],
  });
  const { engine, provider } = workshop.scripted(["Hi.", "Yes."], { middleware: [layer] });
  for (const said of ["my name is Ada", "Is Ada a good name?"]) {
    await conversation.append(said);
    await conversation.run(engine);
  }
  expect(JSON.stringify(provider.requests)).not.toContain("Ada");
});

test("a value is not restored where it would not be hidden again", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const layer = redact({
    detect: [{ kind: "name", find: (text) => [...(/my name is (\w+)/.exec(text)?.slice(1) ?? [])] }],
  });
  const forget = defineMiddleware({ name: "forget", version: "1.0.0" }, (next) => async (turn) => {
    const result = await next(turn);
    return turn.length === 1 ? result.remove(...turn.blocks) : result;
  });
  const { engine, provider } = workshop.scripted([(asked) => `Hi ${placeholderIn(asked, "name")}.`, "Yes."], {
    middleware: [layer, forget],
  });
  for (const said of ["my name is Ada", "And now?"]) {
    await conversation.append(said);
    await conversation.run(engine);
  }
  expect((await conversation.turn()).blocks[0]?.text).toMatch(/^Hi \[name-[0-9a-f]+\]\.$/);
  expect(JSON.stringify(provider.requests)).not.toContain("Ada");
});

test("no value of another conversation is restored, although one engine runs both and the model repeats its placeholder", async () => {
  const { store, ...workshop } = createWorkshop();
  let placeholder = "";
  const { engine } = workshop.scripted(
    [
      (asked) => {
        placeholder = placeholderIn(asked);
        return "noted";
      },
      () => `I know ${placeholder}.`,
    ],
    { middleware: [emails()] },
  );
  const [first, second] = [store.conversation("cnv_first"), store.conversation("cnv_second")];
  await first.append(`I am ${ada}.`);
  await first.run(engine);
  await second.append(`I am ${bob}.`);
  const { text } = await second.run(engine);
  expect(text).toBe(`I know ${placeholder}.`);
  expect(placeholder).toMatch(/^\[email-/);
});

test("a summary is made from placeholders and restored, also of exchanges that it replaces", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(
    ["one", "two", (asked) => `The user is ${placeholderIn(asked)}.`, (asked) => `You are ${placeholderIn(asked)}.`],
    { middleware: [emails()] },
  );
  for (const said of [`I am ${ada}.`, "Go on."]) {
    await conversation.append(said);
    await conversation.run(engine);
  }
  await conversation.compact(engine, { summary: {}, keep: 1 });
  expect((await conversation.turn()).blocks[0]?.text).toContain(`The user is ${ada}.`);
  await conversation.append("Who am I?");
  expect((await conversation.run(engine)).text).toBe(`You are ${ada}.`);
  expect(JSON.stringify(provider.requests)).not.toContain(ada);
});

test("what a layer outside asks the model beside the conversation is hidden, and its answer restored", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const answers: string[] = [];
  const asking = defineMiddleware({ name: "asking", version: "1.0.0" }, (next) => async (turn, ctx) => {
    for (const input of [turn.append(user("Who is it?")), `Is ${bob} known?`])
      answers.push((await ctx.infer({ input })).text);
    return next(turn);
  });
  const said = (asked: ScriptedQuestion): string => `It is ${placeholderIn(asked)}.`;
  const { engine, provider } = workshop.scripted([said, said, "done"], { middleware: [asking, emails()] });
  await conversation.append(`I am ${ada}.`);
  await conversation.run(engine);
  expect(answers).toEqual([`It is ${ada}.`, `It is ${bob}.`]);
  expect(JSON.stringify(provider.requests)).not.toMatch(/@example/);
  const edits = (await eventsOf(conversation)).filter(({ event }) => event.type === "TurnEdited");
  expect(edits.map(({ actor, frame }) => (actor.kind === "middleware" ? `${actor.name} ${frame}` : null))).toEqual([
    ...["asking 0.a0", "redact 0.a0", "asking 0.a1", "redact 0.a1", "redact 0.0.0", "redact 0.0"],
  ]);
  expect((await reexecute(conversation, engine)).difference).toBeNull();
  expect(await conversation.verify()).toMatchObject({ isSound: true });
});

const hashOf = (kind: string, value: string): string =>
  `[${kind}:${createHmac("sha256", "a secret key").update(`${kind}\n${value}`).digest("hex").slice(0, 16)}]`;

test.each([
  ["redact", "[email], [card] and [email]"],
  ["mask", "***@*******.com, **** **** **** 1111 and ***@*******.org"],
  ["hash", `${hashOf("email", ada)}, ${hashOf("card", "4111 1111 1111 1111")} and ${hashOf("email", bob)}`],
] as const)("the strategy %s shows the model a form that is not restored", async (strategy, form) => {
  const { conversation, ...workshop } = createWorkshop();
  const layer = redact({ detect: ["email", "card"], strategy, key: "a secret key" });
  const { engine, provider } = workshop.scripted([({ input }) => JSON.stringify(input.at(-1))], {
    middleware: [layer],
  });
  await conversation.append(`${ada}, 4111 1111 1111 1111 and ${bob}`);
  const { text } = await conversation.run(engine);
  expect(text).toContain(form);
  expect(JSON.stringify(provider.requests)).not.toMatch(/@example|4111/);
  expect((await conversation.turn()).blocks[0]?.text).toContain(ada);
});

test("the strategy block ends the run before the request, and the model's own words do not end later ones", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const layer = redact({ detect: ["email", { kind: "card", strategy: "block" }] });
  const { engine, provider } = workshop.scripted(["Try 4111111111111111.", "fine"], { middleware: [layer] });
  await conversation.append("Which card?");
  await conversation.run(engine);
  await conversation.append("Thanks.");
  expect((await conversation.run(engine)).text).toBe("fine");
  expect(JSON.stringify(provider.requests[1])).not.toContain("4111");
  await conversation.append("Mine is 5555 5555 5555 4444");
  const error = await rejectionOf(conversation.run(engine));
  expect(error).toMatchObject({ code: "run-failed", kind: "content-blocked", layer: "redact" });
  expect(String(error)).not.toContain("5555");
  expect(provider.requests).toHaveLength(2);
});

test("numbers in JSON are hidden as well, and the JSON stays readable", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(["fine"], { middleware: [redact({ detect: ["card"] })] });
  const call = toolCall({ callId: "c1", name: "pay", arguments: '{"card":4111111111111111}' });
  await conversation.append([user("Look."), call, toolResult({ callId: "c1", output: "paid" })]);
  await conversation.run(engine);
  expect(JSON.stringify(provider.requests)).not.toContain("4111");
  const read = provider.reading(0).find(({ type }) => type === "function_call");
  expect(read?.["arguments"]).toMatch(/^\{"card":"\[card-[0-9a-f]+\]"\}$/);
});

test("a block without a value is passed as it is, and no edit is recorded", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted(["hi"], { middleware: [emails()] });
  await conversation.append('{"a": [1, 2.50, "b\\u00e9"]}');
  await conversation.run(engine);
  expect(dataOf(await eventsOf(conversation), "TurnEdited")).toEqual([]);
});

test("streamed texts and arguments have the values, wherever their pieces break", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const layer = redact({ detect: ["email", { kind: "name", find: /Ann "[^"]*"/ }] });
  const { engine, provider } = workshop.scripted([(asked) => `[to ${placeholderIn(asked)}] or [x-12`], {
    middleware: [layer],
  });
  const name = 'Ann "the cat"';
  await conversation.append(`I am ${ada}, or ${name}.`);
  let shown = "";
  for await (const part of conversation.stream(engine)) if (part.type === "text-delta") shown += part.text;
  expect(shown).toBe(`[to ${ada}] or [x-12`);
  const turn = await conversation.turn();
  const context = { context: undefined, conversationId: conversation.id, runId: "run_0", frame: "0", given: turn };
  const said = JSON.stringify({ of: `${placeholderIn({ context: provider.reading(0) }, "name")} [name-` });
  for (let size = 1; size <= said.length; size += 1) {
    const filter = layer.deltas?.({ kind: "tool-call" }, context);
    let text = "";
    for (let at = 0; at < said.length; at += size) text += filter?.take(said.slice(at, at + size)) ?? "";
    text += filter?.end?.() ?? "";
    expect(JSON.parse(text)).toEqual({ of: `${name} [name-` });
  }
  expect(layer.deltas?.({ kind: "reasoning" }, context)).toBeNull();
});
