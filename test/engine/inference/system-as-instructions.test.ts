import fc from "fast-check";
import { expect, test } from "vitest";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { image, system, text, user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { withoutFirst } from "../../../src/engine/planning/instruction-blocks.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { CheckedFold } from "../../../src/engine/recorded/checked-fold.ts";
import { rebuildRequest } from "../../../src/engine/recorded/recorded-request.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createWorkshop, dataOf, eventsOf } from "../../support/workshop.ts";

type Told = { readonly middleware?: readonly Layer[]; readonly systemAs?: "input" | "instructions" };

function workshopWith(options: Parameters<typeof scripted>[1]) {
  const { conversation, ...workshop } = createWorkshop();
  const provider = scripted(({ requestNumber }) => `answer ${requestNumber}`, {
    settings: { model: "m", instructions: "Be exact." },
    ...options,
  });
  const run = ({ systemAs = provider.systemAs ?? "input", ...told }: Told = {}) =>
    conversation.run(workshop.engine({ provider: { ...provider, systemAs }, ...told }));
  return { conversation, workshop, provider, run };
}

const strategiesOf = async (conversation: Conversation): Promise<readonly string[]> =>
  dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision.strategy);

/** The prompt is another one in every run. */
const prompting = (prompt: string): Layer =>
  defineMiddleware({ name: "prompting", version: "1.0.0" }, (next) => async (turn) => {
    const originals = new Map(turn.blocks.map((block) => [block.id, block]));
    const result = await next(turn.map((block) => (block.kind === "system" ? block.withText(prompt) : block)));
    return result.map((block) => originals.get(block.id) ?? block);
  });

test("a system prompt that changes with every request changes the instructions, and the chain holds", async () => {
  const { conversation, provider, run } = workshopWith({ systemAs: "instructions" });
  await conversation.append([system("It is noon."), system("Be kind.", "developer")]);
  for (const prompt of ["It is one.", "It is two.", "It is three."]) {
    await conversation.append("hello");
    await run({ middleware: [prompting(prompt)] });
  }
  expect(await strategiesOf(conversation)).toEqual(["full", "chained", "chained"]);
  expect(provider.requests.map((body) => body["instructions"])).toEqual(
    ["It is one.", "It is two.", "It is three."].map((prompt) => `Be exact.\n\n${prompt}\n\n${prompt}`),
  );
  expect(provider.reading(2).map((item) => item["role"])).toEqual(["user", "assistant", "user", "assistant", "user"]);
  expect((await conversation.turn()).blocks.map(({ kind }) => kind).slice(0, 3)).toEqual(["system", "system", "user"]);
});

test("every body is given again by the events, and verifies", async () => {
  const { conversation, workshop, provider, run } = workshopWith({ systemAs: "instructions" });
  await conversation.append(system("It is noon."));
  for (const systemAs of ["instructions", "input", "instructions"] as const) {
    await conversation.append("hello");
    await run({ systemAs });
  }
  const bodies: unknown[] = [];
  const problems: unknown[] = [];
  const names = await conversation.names();
  const folds = new CheckedFold("", codecs);
  for await (const recorded of conversation.history()) {
    problems.push(folds.take(recorded, names));
    if (recorded.event.type !== "InferenceRequested") continue;
    bodies.push(JSON.parse(rebuildRequest(folds.view, recorded, codecs).bodyText));
    problems.push(folds.checkRequest(recorded));
  }
  expect(bodies).toEqual(provider.requests);
  expect(problems.filter((problem) => problem !== null)).toEqual([]);
  // What one way made is no beginning for the other: the system message is in the context, or it is not.
  expect(await strategiesOf(conversation)).toEqual(["full", "full", "rebased"]);
  const past = await workshop.store.conversation(conversation.id).at(-1);
  expect(past.turn.digest).toBe((await conversation.turn()).digest);
});

test("what is more than text, and a Turn of nothing else, stay in the input", async () => {
  const { conversation, provider, run } = workshopWith({ systemAs: "instructions" });
  await conversation.append(system("Only this."));
  await run();
  expect(provider.reading(0).map((item) => item["role"])).toEqual(["system"]);
  const pictured = workshopWith({ systemAs: "instructions" });
  await pictured.conversation.append([
    system("First."),
    system([text("Look."), image("data:,")]),
    system("Last."),
    user("hello"),
  ]);
  await pictured.run();
  expect(pictured.provider.requests[0]?.["instructions"]).toBe("Be exact.\n\nFirst.");
  expect(pictured.provider.reading(0).map((item) => item["role"])).toEqual(["system", "system", "user"]);
});

test("a layer gets the settings with what its Turn says, and what no server has seen", async () => {
  const seen: unknown[] = [];
  const looking = defineMiddleware({ name: "looking", version: "1.0.0" }, (next) => (turn, ctx) => {
    seen.push(ctx.settings["instructions"], turn.blocks.filter(({ id }) => id !== null && ctx.unsent.has(id)).length);
    return next(turn);
  });
  const { conversation, run } = workshopWith({ systemAs: "instructions" });
  await conversation.append([system("It is noon."), user("hello")]);
  await run({ middleware: [looking] });
  await conversation.append("more");
  await run({ middleware: [looking] });
  expect(seen).toEqual(["Be exact.\n\nIt is noon.", 2, "Be exact.\n\nIt is noon.", 1]);
});

test("a broken chain names the block that broke it, and not the prompt that no server holds", async () => {
  const { conversation, run } = workshopWith({ systemAs: "instructions" });
  const [, hello] = (await conversation.append([system("It is noon."), user("hello")])).blocks;
  await run();
  await conversation.append("more");
  const shout = defineMiddleware(
    { name: "shout", version: "1.0.0" },
    (next) => (turn) => next(turn.map((block) => (block.id === hello?.id ? block.withText("HELLO") : block))),
  );
  const { steps } = await run({ middleware: [shout] });
  expect(steps[0]?.decision).toMatchObject({
    strategy: "full",
    rejected: { divergence: { index: 0, blockId: hello?.id, change: "edited", actor: { name: "shout" } } },
  });
});

test("how a request would be sent is asked of the same context", async () => {
  const { conversation, provider, run } = workshopWith({ systemAs: "instructions" });
  await conversation.append([system("It is noon."), user("hello")]);
  await run();
  await conversation.append("more");
  const past = await conversation.at(-1);
  expect(await past.planFor(provider)).toMatchObject({ strategy: "chained", sendFrom: 2 });
  expect(await past.planFor({ ...provider, systemAs: "input" })).toMatchObject({ strategy: "full" });
});

test("a Turn without its first blocks is the same whatever was computed for the Turns before it", () => {
  const edit = fc.record({ place: fc.nat(8), count: fc.nat(4), what: fc.constantFrom("insert", "cut", "append") });
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 20 }), (edits) => {
      const owner = {};
      let turn = Turn.of([user("0"), user("1"), user("2")]);
      for (const [n, { place, count, what }] of edits.entries()) {
        if (what === "insert") turn = turn.insert(Math.min(place, turn.length), user(`inserted ${n}`));
        else if (what === "cut") turn = turn.slice(place);
        else turn = turn.append(user(`appended ${n}`));
        const rest = withoutFirst(owner, turn, Math.min(count, turn.length));
        const anew = Turn.of(turn.after(Math.min(count, turn.length)));
        expect(rest.blocks).toEqual(anew.blocks);
        expect(rest.digest).toBe(anew.digest);
      }
    }),
    { numRuns: 300, seed: 7 },
  );
});
