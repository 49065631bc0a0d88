import { expect, test } from "vitest";
import * as z from "zod";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { AllowanceCheck } from "../../../src/replay/regression/allowance.ts";
import type { ConversationRegression } from "../../../src/replay/regression/conversation-result.ts";
import { culpritName } from "../../../src/replay/regression/culprit.ts";
import { regress } from "../../../src/replay/regression/regress.ts";
import { createWorkshop } from "../../support/workshop.ts";

const says = (name: string, text: string, version = "1.0.0"): Layer =>
  defineMiddleware({ name, version }, (next) => (turn) => next(turn.insertOnce(name, user(text), 0)));
/** Says this once somebody says that. */
const replies = (name: string, to: string, text: string): Layer =>
  defineMiddleware(
    { name, version: "1.0.0" },
    (next) => (turn) =>
      next(turn.blocks.some((block) => block.text === to) ? turn.insertOnce(name, user(text), 0) : turn),
  );
const strip = defineMiddleware(
  { name: "strip", version: "1.0.0" },
  (next) => (turn) => next(turn.filter(({ text }) => !text.startsWith("note:"))),
);
const instructs = (name: string, text: string, version: string): Layer =>
  defineMiddleware({ name, version }, (next) => (turn, ctx) => {
    ctx.instructions("Be brief.");
    return next(turn.insertOnce(name, user(text), 0));
  });
/** A layer that has an effect, asks the model, and calls twice. */
const busy = (text: string): Layer =>
  defineMiddleware({ name: "busy", version: "1.0.0" }, (next) => async (turn, ctx) => {
    const got = await ctx.effect("fetch", async () => "fetched", { idempotent: true });
    await ctx.infer({ input: "And what is this?" });
    const result = await next(turn.insertOnce("busy", user(`${got} ${text}`), 0));
    return next(result.insertOnce("sure", user("Are you sure?")));
  });
const lookUp = (description: string) =>
  tool({ name: "look-up", description, inputSchema: z.object({}), execute: () => "found" });

const provider = scripted([]);
/** More than any of the stacks asks for. */
const answers = Array.from({ length: 8 }, (_, n) => `Answer ${n}.`);

/** What two stacks change, against the recording that the first one made, or against the first one. */
async function compared(
  { before, now }: { readonly before: Partial<EngineConfig>; readonly now: Partial<EngineConfig> },
  isWithStack: boolean,
) {
  const workshop = createWorkshop();
  const { engine } = workshop.scripted(answers, before);
  for (const text of ["What time is it?", "And now?"]) {
    await workshop.conversation.append(text);
    await workshop.conversation.run(engine);
  }
  const results: ConversationRegression[] = [];
  await regress(workshop.store, createEngine({ provider, ...now }), {
    onConversation: (result) => results.push(result),
    ...(isWithStack && { compareWith: createEngine({ provider, ...before }) }),
  });
  const [result] = results;
  if (result === undefined) throw new Error("nothing was compared");
  const { first, differences, culprits } = result;
  return {
    result,
    culprits: Object.fromEntries(culprits.map(({ name, requests }) => [name, requests])),
    first: first === null ? null : { name: culpritName(first), isConfirmed: first.isConfirmed },
    others: differences.map(({ others }) => others.map((each) => `${culpritName(each)} ${each.isConfirmed}`)),
  };
}

const greet = says("greet", "Hello.");
const sign = says("sign", "Yours.");
const hi = says("greet", "Hi.", "1.1.0");
const truly = says("sign", "Truly.", "1.1.0");

const sides = [
  ["the recording", false],
  ["another stack", true],
] as const;

test.each(sides)("against %s, names both of two layers that change a request", async (_, isWithStack) => {
  const stacks = { before: { middleware: [greet, sign] }, now: { middleware: [hi, truly] } };
  expect(await compared(stacks, isWithStack)).toMatchObject({
    ...{ first: { name: "greet@1.1.0", isConfirmed: true }, culprits: { "greet@1.1.0": 2, "sign@1.1.0": 2 } },
    others: [["sign@1.1.0 true"], ["sign@1.1.0 true"]],
  });
});

test.each(sides)("against %s, confirms the only layer that differs among several that act", async (_, isWithStack) => {
  const outer = { before: { middleware: [greet, sign] }, now: { middleware: [hi, sign] } };
  expect(await compared(outer, isWithStack)).toMatchObject({
    ...{ first: { name: "greet@1.1.0", isConfirmed: true }, culprits: { "greet@1.1.0": 2 }, others: [[], []] },
  });
  const inner = { before: { middleware: [greet, sign] }, now: { middleware: [greet, truly] } };
  expect((await compared(inner, isWithStack)).first).toEqual({ name: "sign@1.1.0", isConfirmed: true });
});

test.each(sides)("against %s, does not name a layer whose change reaches no request", async (_, isWithStack) => {
  const stacks = {
    before: { middleware: [says("note", "note: a"), strip, sign] },
    now: { middleware: [says("note", "note: b"), strip, truly] },
  };
  expect(await compared(stacks, isWithStack)).toMatchObject({
    ...{ first: { name: "sign@1.1.0", isConfirmed: true }, culprits: { "sign@1.1.0": 2 }, others: [[], []] },
  });
});

test.each(sides)(
  "against %s, names the one that acts in a later run beside the one that acts in all",
  async (_, isWithStack) => {
    const stacks = {
      before: { middleware: [greet, replies("late", "And now?", "Later.")] },
      now: { middleware: [hi, replies("late", "And now?", "Much later.")] },
    };
    expect(await compared(stacks, isWithStack)).toMatchObject({
      ...{ first: { name: "greet@1.1.0", isConfirmed: true }, culprits: { "greet@1.1.0": 2, "late@1.0.0": 1 } },
      others: [[], ["late@1.0.0 true"]],
    });
  },
);

test.each(sides)(
  "against %s, names an added, a left out and a renamed layer beside another one",
  async (_, isWithStack) => {
    const before = { middleware: [greet, sign] };
    const added = { before, now: { middleware: [says("new", "New."), greet, truly] } };
    expect((await compared(added, isWithStack)).culprits).toEqual({ "new@1.0.0": 2, "sign@1.1.0": 2 });
    const gone = { before, now: { middleware: [truly] } };
    expect((await compared(gone, isWithStack)).culprits).toEqual({ "greet@1.0.0": 2, "sign@1.1.0": 2 });
    const renamed = { before, now: { middleware: [says("welcome", "Welcome."), truly] } };
    expect((await compared(renamed, isWithStack)).culprits).toEqual({ "welcome@1.0.0": 2, "sign@1.1.0": 2 });
  },
);

test.each(sides)("against %s, names a tool and a policy beside a layer", async (_, isWithStack) => {
  const before = { middleware: [greet, sign], tools: [lookUp("Looks up.")] };
  const described = { before, now: { middleware: [hi, sign], tools: [lookUp("Finds.")] } };
  expect((await compared(described, isWithStack)).culprits).toEqual({ "greet@1.1.0": 2, "tool:look-up": 2 });
  const stateless = { before, now: { ...before, middleware: [hi, sign], mode: "stateless" as const } };
  expect(Object.keys((await compared(stateless, isWithStack)).culprits)).toEqual(["greet@1.1.0", "policy:mode"]);
});

test("says that a layer is unconfirmed if the recording has not what it gave, and confirms it with the earlier stack", async () => {
  const before = { middleware: [instructs("brief", "Hello.", "1.0.0"), sign] };
  const stacks = { before, now: { middleware: [instructs("brief", "Hi.", "1.1.0"), sign] } };
  expect(await compared(stacks, false)).toMatchObject({
    ...{ first: { name: "brief@1.1.0", isConfirmed: false }, culprits: { "brief@1.1.0": 2 } },
  });
  expect((await compared(stacks, true)).first).toEqual({ name: "brief@1.1.0", isConfirmed: true });
});

test("does not take the instructions that the recording cannot give again for another culprit", async () => {
  const tone = instructs("tone", "Friendly.", "1.0.0");
  const before = { middleware: [instructs("brief", "Hello.", "1.0.0"), tone] };
  const stacks = { before, now: { middleware: [instructs("brief", "Hi.", "1.1.0"), tone] } };
  expect(await compared(stacks, false)).toMatchObject({
    ...{ first: { name: "brief@1.1.0", isConfirmed: false }, culprits: { "brief@1.1.0": 2 }, others: [[], []] },
  });
});

test.each(sides)("against %s, leaves a layer that moved unconfirmed", async (_, isWithStack) => {
  const stacks = { before: { middleware: [greet, sign] }, now: { middleware: [sign, greet] } };
  expect(await compared(stacks, isWithStack)).toMatchObject({
    ...{ first: { name: "sign@1.0.0", isConfirmed: false }, culprits: { "sign@1.0.0": 2 }, others: [[], []] },
  });
});

test.each(sides)(
  "against %s, takes back a layer that has effects, asks the model and calls twice",
  async (_, isWithStack) => {
    const stacks = { before: { middleware: [busy("a"), sign] }, now: { middleware: [busy("b"), truly] } };
    const { first, culprits } = await compared(stacks, isWithStack);
    expect(first).toEqual({ name: "busy@1.0.0", isConfirmed: true });
    expect(Object.keys(culprits)).toEqual(["busy@1.0.0", "sign@1.1.0"]);
    const alone = { ...stacks, now: { middleware: [busy("b"), sign] } };
    expect((await compared(alone, isWithStack)).culprits).toEqual({ "busy@1.0.0": 4 });
  },
);

test("an allowance of one of two layers does not let the other one pass", async () => {
  const stacks = { before: { middleware: [greet, sign] }, now: { middleware: [hi, truly] } };
  const { result } = await compared(stacks, false);
  const isWithin = (...culprits: readonly string[]): boolean => {
    const differences = culprits.map((culprit) => ({ conversation: "*", culprit, reason: "intended" }));
    const check = new AllowanceCheck({ version: 1, differences });
    check.add(result);
    return check.verdict().isWithin;
  };
  expect(isWithin("greet")).toBe(false);
  expect(isWithin("greet", "sign")).toBe(true);
});
