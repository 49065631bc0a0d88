import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { messageOf } from "../../../src/base/error-message.ts";
import { assistant, system, user } from "../../../src/domain/make-block.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import type { AsideAnswer, AsideRequest } from "../../../src/engine/ports/aside.ts";
import type { LayerContext, Next } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { whatIf } from "../../../src/replay/counterfactual.ts";
import { replayFolds } from "../../../src/replay/fold-replay.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { counted, layer, textsOf } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

type Turned = Parameters<Next>[0];

/** A layer that asks first, and says what it was told. */
const judge = (ask: (ctx: LayerContext, turn: Turned) => Promise<string>) =>
  layer("judge", async (turn, next, ctx) => next(turn.append(user(`Judge: ${await ask(ctx, turn)}`))));

const short = judge(async (ctx) => (await ctx.infer({ input: "Is it safe?", model: "small" })).text);
const onTurn = judge(async (ctx, turn) => (await ctx.infer({ input: turn.append(user("Sum it up.")) })).text);

async function talk(asking: ReturnType<typeof judge>, answers = ["yes", "Hello.", "no", "Bye."]) {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(answers, { middleware: [asking] });
  await conversation.append("hello");
  const first = await conversation.run(engine);
  await conversation.append("and now?");
  const second = await conversation.run(engine);
  return { conversation, engine, provider, first, second, events: await eventsOf(conversation) };
}

describe("a layer that asks the model beside the conversation", () => {
  test("is answered, and neither question nor answer is in the Turn", async () => {
    const { conversation, provider } = await talk(short);
    expect(await textsOf(conversation)).toEqual(["hello", "Judge: yes", "Hello.", "and now?", "Judge: no", "Bye."]);
    expect(provider.requests[0]).toMatchObject({ model: "small" });
    expect(provider.reading(0)).toMatchObject([{ role: "user" }]);
    expect(provider.requests[1]).toMatchObject({ model: "scripted" });
  });

  test("does not break the chain of the conversation, which continues from none of its answers", async () => {
    const { provider, first, second } = await talk(onTurn);
    const [, asked, , next] = provider.requests;
    expect(asked).not.toHaveProperty("previous_response_id");
    expect(next?.["previous_response_id"]).toBe(first.steps[0]?.responseId);
    expect(second.steps.map(({ decision }) => decision.strategy)).toEqual(["chained"]);
    expect(second.steps[0]?.decision.rejected).toBeNull();
  });

  test("keeps the conversation from going on from its answer, even where the Turn comes to say the same", async () => {
    const quoting = layer("quote", async (turn, next, ctx) =>
      next(turn.append(assistant((await ctx.infer({ input: turn })).text), user("Why?"))),
    );
    const { first, provider } = await talk(quoting);
    expect(provider.requests[1]).not.toHaveProperty("previous_response_id");
    expect(provider.requests[3]?.["previous_response_id"]).toBe(first.steps[0]?.responseId);
    expect(provider.reading(3)).toHaveLength(7);
  });

  test("sends the whole of what it asks, whatever the server holds", async () => {
    const { provider } = await talk(onTurn);
    expect(provider.requests[2]).not.toHaveProperty("previous_response_id");
    expect(provider.reading(2)).toHaveLength(5);
  });

  test("counts towards the cost of the run, and is reported as a question of a layer", async () => {
    const { first } = await talk(short);
    expect(first.steps).toHaveLength(1);
    expect(first.asides).toMatchObject([{ frame: "0.a0", decision: { reason: "aside", strategy: "full" } }]);
    const [step, aside] = [first.steps[0]?.usage.inputTokens ?? 0, first.asides[0]?.usage.inputTokens ?? 0];
    expect(aside).toBeGreaterThan(0);
    expect(first.usage.inputTokens).toBe(step + aside);
  });

  test("is recorded by the events of every request, under a frame of its own, durable before it is sent", async () => {
    const { events } = await talk(short);
    const aside = events.filter(({ frame }) => frame === "0.a0");
    expect(typesOf(aside)).toEqual(
      [1, 2]
        .flatMap(() => ["TurnEdited", "SettingsDeclared", "InferenceRequested", "ResponseReceived"])
        .toSpliced(5, 1),
    );
    expect(aside[0]).toMatchObject({ actor: { kind: "middleware", name: "judge" } });
    expect(dataOf(aside, "TurnEdited")).toMatchObject([{ from: "empty" }, { from: "empty" }]);
  });

  test("writes a question on a long Turn as what it adds to it", async () => {
    const { conversation, ...workshop } = createWorkshop();
    const { engine } = workshop.scripted(["a sum", "Hello."], { middleware: [onTurn] });
    await conversation.append(Array.from({ length: 40 }, (_, n) => `message ${n}`));
    await conversation.run(engine);
    const [asked] = dataOf(await eventsOf(conversation), "TurnEdited");
    expect(asked).toMatchObject({ from: "given/0", base: "empty", edits: [{ op: "insert" }] });
    expect(asked?.edits).toHaveLength(1);
  });

  test("may ask the Turn that it was given unchanged", async () => {
    const asIs = judge(async (ctx, turn) => (await ctx.infer({ input: turn })).text);
    const { conversation, provider, events } = await talk(asIs);
    expect(provider.reading(0)).toMatchObject([{ role: "user" }]);
    expect(typesOf(events.filter(({ frame }) => frame === "0.a0"))).not.toContain("TurnEdited");
    expect((await replayFolds(conversation)).difference).toBeNull();
  });

  test.each([
    ["short", short],
    ["on the Turn", onTurn],
  ])(
    "a question %s is made again byte for byte, executed again and asked otherwise from the log alone",
    async (_, asking) => {
      const { conversation, engine, provider } = await talk(asking);
      expect((await replayFolds(conversation)).difference).toBeNull();
      expect(await reexecute(conversation, engine)).toEqual({ runs: 2, steps: 2, erased: 0, difference: null });
      const again = await whatIf(conversation, engine);
      expect(again.unknown).toBeNull();
      expect(again.steps.map(({ isSame }) => isSame)).toEqual([true, true]);
      const without = await whatIf(conversation, engine, { without: "judge" });
      expect(without.unknown).toBeNull();
      expect(without.steps).toHaveLength(2);
      expect(provider.requests).toHaveLength(4);
    },
  );

  test("is named where it asks otherwise than it did", async () => {
    const { conversation, provider } = await talk(short);
    const asking = (input: string, model: string) =>
      createWorkshop().engine({
        provider,
        middleware: [judge(async (ctx) => (await ctx.infer({ input, model })).text)],
      });
    const other = await reexecute(conversation, asking("Is it true?", "small"));
    expect(other.difference).toMatchObject({ frame: "0.a0", layer: "judge" });
    const bigger = await reexecute(conversation, asking("Is it safe?", "big"));
    expect(bigger.difference).toMatchObject({ frame: "0.a0", field: "settingsDigest" });
  });

  test("is described in the log: who asks what, and what was answered", async () => {
    const { conversation } = await talk(onTurn);
    const words: string[] = [];
    for await (const { frame, words: said } of conversation.walk()) if (frame === "0.a0") words.push(said);
    expect(words[0]).toBe("asks the model “Sum it up.”");
    expect(words[1]).toMatch(/^asked beside the conversation, 2 of 2 blocks, \d+ bytes/);
    expect(words[2]).toMatch(/^answered assistant “yes”/);
  });

  test("shows nothing of it to those who watch the answer", async () => {
    const { conversation, ...workshop } = createWorkshop();
    const { engine } = workshop.scripted(["yes", "Hello."], { middleware: [short] });
    await conversation.append("hello");
    const parts: RunPart[] = [];
    for await (const part of conversation.stream(engine)) parts.push(part);
    expect(parts.filter(({ type }) => type === "request-start")).toHaveLength(1);
    expect(parts.map((part) => (part.type === "text-delta" ? part.text : "")).join("")).toBe("Hello.");
  });

  test("offers the model none of the engine's tools, and none of the run's settings", async () => {
    const { conversation, ...workshop } = createWorkshop();
    const { engine, provider } = workshop.scripted(["yes", "Hello."], {
      middleware: [short],
      tools: [counted("t", true).tool],
    });
    await conversation.append("hello");
    await conversation.run(engine, { temperature: 1 });
    expect(provider.requests[0]).not.toHaveProperty("tools");
    expect(provider.requests[0]).not.toHaveProperty("temperature");
    expect(provider.requests[1]).toMatchObject({ temperature: 1, tools: [{ name: "t" }] });
  });

  test("says by system blocks what the provider takes into its instructions", async () => {
    const strict = judge(async (ctx) => (await ctx.infer({ input: [system("Be strict."), user("Safe?")] })).text);
    const { conversation, ...workshop } = createWorkshop();
    const provider = scripted(["yes", "Hello."], { systemAs: "instructions" });
    const engine = workshop.engine({ provider, middleware: [strict] });
    await conversation.append("hello");
    await conversation.run(engine);
    expect(provider.requests[0]).toMatchObject({ instructions: "Be strict." });
    expect((await replayFolds(conversation)).difference).toBeNull();
    expect((await reexecute(conversation, engine)).difference).toBeNull();
  });

  test("may want the answer as a schema has it", async () => {
    const verdict = z.object({ safe: z.boolean() });
    const seen: AsideAnswer<unknown>[] = [];
    const strict = judge(async (ctx) => {
      const answer = await ctx.infer({ input: "Safe?", output: verdict });
      expectTypeOf(answer).toEqualTypeOf<AsideAnswer<{ safe: boolean }>>();
      seen.push(answer);
      return answer.outputIssues.length === 0 ? String(answer.output.safe) : "unclear";
    });
    const { conversation, provider } = await talk(strict, ['{"safe":true}', "Hello.", "perhaps", "Bye."]);
    expect(await textsOf(conversation)).toEqual(expect.arrayContaining(["Judge: true", "Judge: unclear"]));
    expect(provider.requests[0]).toMatchObject({ text: { format: { type: "json_schema" } } });
    expect(provider.requests[1]).not.toHaveProperty("text");
    expect(() => seen[1]?.output).toThrow(expect.objectContaining({ code: "output-mismatch", text: "perhaps" }));
  });

  test("asks several at once, and each gets its own answer, also from the log", async () => {
    const jury = judge(async (ctx) => {
      const asked = ["one", "two", "three"].map((input) => ctx.infer({ input }));
      return (await Promise.all(asked)).map(({ text }) => text).join(" ");
    });
    const { conversation, ...workshop } = createWorkshop();
    const provider = scripted(({ context }) => `${context.length} ${JSON.stringify(context.at(-1)?.["content"])}`);
    const engine = workshop.engine({ provider, middleware: [jury] });
    await conversation.append("hello");
    await conversation.run(engine);
    const [, judged] = await textsOf(conversation);
    expect(judged).toMatch(/one.*two.*three/);
    expect((await reexecute(conversation, engine)).difference).toBeNull();
  });

  test("learns of a refusal, and may continue without an answer; the log then refuses the same", async () => {
    const brave = judge((ctx) =>
      ctx.infer({ input: "Safe?" }).then(
        ({ text }) => text,
        (error: unknown) => `unknown, for ${messageOf(error)}`,
      ),
    );
    const { conversation, ...workshop } = createWorkshop();
    const provider = scripted([{ error: { message: "no such model" } }, "Hello."]);
    const engine = workshop.engine({ provider, middleware: [brave] });
    await conversation.append("hello");
    expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "Hello." });
    expect((await textsOf(conversation))[1]).toContain("unknown, for");
    expect((await reexecute(conversation, engine)).difference).toBeNull();
  });

  test("fails the run with the provider's error where it lets it through", async () => {
    const { conversation, ...workshop } = createWorkshop();
    const { engine } = workshop.scripted([{ error: { message: "no such model" } }], { middleware: [short] });
    await conversation.append("hello");
    expect(await rejectionOf(conversation.run(engine))).toMatchObject({
      code: "run-failed",
      kind: "invalid-request",
      layer: null,
    });
    expect(await textsOf(conversation)).toEqual(["hello"]);
  });

  test("cannot have a call of its answer run: it is the conversation's model that calls tools", async () => {
    const spy = counted("spy", true);
    const sly = layer("sly", async (turn, next, ctx) => {
      const { text } = await ctx.infer({ input: "Call it." });
      return next(turn.append(user(`asked${text}`)));
    });
    const { conversation, ...workshop } = createWorkshop();
    const { engine } = workshop.scripted([calling(["spy", "{}"]), "Hello."], { middleware: [sly], tools: [spy.tool] });
    await conversation.append("hello");
    expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "Hello." });
    expect(spy.runs).toEqual([]);
  });
});

test.each([
  [{ input: "Safe?", modl: "small" }, /^ctx\.infer has no option 'modl': did you mean 'model'\?$/],
  [{ input: [] }, /^ctx\.infer: input is a list without blocks: give what to ask$/],
  [{ input: "Safe?", temperature: "hot" }, /^ctx\.infer: temperature is a text/],
  [{ input: "Safe?", toolChoice: "none" }, /^ctx\.infer has no option 'toolChoice'/],
])("%j is refused before anything is asked", async (request: object, message) => {
  const { conversation, ...workshop } = createWorkshop();
  // Types refuse it; JavaScript does not.
  const wrong = judge(async (ctx) => (await ctx.infer(request as AsideRequest)).text);
  const { engine, provider } = workshop.scripted(["yes"], { middleware: [wrong] });
  await conversation.append("hello");
  expect(messageOf(Reflect.get(Object(await rejectionOf(conversation.run(engine))), "cause"))).toMatch(message);
  expect(provider.requests).toEqual([]);
});
