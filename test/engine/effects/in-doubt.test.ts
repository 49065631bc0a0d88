import { describe, expect, test } from "vitest";
import type { Settlement } from "../../../src/domain/events/tool-events.ts";
import { user } from "../../../src/domain/make-block.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { Layer } from "../../../src/engine/ports/middleware.ts";
import { beforeRequest, counted, createScene, dieAt, inTool, layer, textsOf } from "../../support/run/scene.ts";
import { calling, noJson } from "../../support/run/tool-runs.ts";
import { eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

describe("a call in doubt", () => {
  const script = [calling(["charge", "{}"]), "an answer"];

  async function cutOff(config: Partial<EngineConfig> = {}) {
    const charge = counted("charge", false);
    const scene = createScene(script, { tools: [charge.tool], ...config });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, inTool("charge", "after"));
    return { ...scene.process(), scene, charge };
  }

  async function parked(config: Partial<EngineConfig> = {}) {
    const life = await cutOff(config);
    return { ...life, result: await life.conversation.run(life.engine) };
  }

  test("parks the run, which waits without an owner and writes nothing more", async () => {
    const { conversation, engine, result, charge } = await parked();
    const events = await eventsOf(conversation);
    expect(result).toMatchObject({ status: "parked", waitingFor: [{ name: "charge" }] });
    expect(typesOf(events).slice(-3)).toEqual(["RunResumed", "ToolParked", "RunParked"]);
    expect(await conversation.run(engine)).toMatchObject({ status: "parked" });
    expect(await eventsOf(conversation)).toHaveLength(events.length);
    expect(charge.runs).toHaveLength(1);
  });

  test.each([
    [{ how: "result", output: "it was done" }, "it was done", 1],
    [{ how: "rerun" }, "charge done", 2],
    [{ how: "abandon" }, "in doubt: no result came; it may have taken effect", 1],
  ] as const)("is settled by a person: %j", async (settlement, told, runs) => {
    const { conversation, engine, result, charge } = await parked();
    const id = result.waitingFor[0]?.blockId ?? "";
    await conversation.settle(id, settlement, { kind: "operator", name: "ann" });
    expect((await conversation.run(engine)).text).toBe("an answer");
    expect((await textsOf(conversation))[2]).toBe(told);
    expect(charge.runs).toHaveLength(runs);
    expect(await rejectionOf(conversation.settle(id, settlement))).toMatchObject({ code: "not-in-doubt" });
  });

  test("is settled by the name of its tool", async () => {
    const { conversation, engine } = await parked();
    await conversation.settle("charge", { how: "result", output: "it was done" });
    expect((await conversation.run(engine)).text).toBe("an answer");
    expect((await textsOf(conversation))[2]).toBe("it was done");
  });

  test("that may run again is in doubt again when it is cut off once more", async () => {
    const { conversation, result, charge, scene } = await parked();
    await conversation.settle(result.waitingFor[0]?.blockId ?? "", { how: "rerun" });
    await dieAt(scene.process(), inTool("charge", "after"));
    const { engine } = scene.process();
    expect(await conversation.run(engine)).toMatchObject({ status: "parked" });
    expect(charge.runs).toHaveLength(2);
  });

  test("is settled by the app's handler, which gets the arguments that it began with", async () => {
    const told: unknown[] = [];
    const { result, charge } = await parked({
      onInDoubt: (doubt) => {
        told.push(doubt);
        return { how: "result", output: "found in the ledger" };
      },
    });
    expect(result).toMatchObject({ text: "an answer", status: "completed" });
    expect(told).toMatchObject([{ name: "charge", idempotencyKey: charge.runs[0], blockId: charge.runs[0] }]);
    expect(charge.runs).toHaveLength(1);
  });

  const noOutput = [...noJson, ["nothing", () => undefined] as const];

  test.each(noOutput)("is not settled by %s: it waits on, and nothing is written", async (_, gives) => {
    const { conversation, result } = await parked();
    const before = await eventsOf(conversation);
    const settling = conversation.settle(result.waitingFor[0]?.blockId ?? "", outputOf(gives()));
    await expect(settling).rejects.toThrow(/is not JSON: ./);
    expect(await eventsOf(conversation)).toHaveLength(before.length);
  });

  test.each(noOutput)(
    "is not settled by a handler that gives %s: the run is left as it was found",
    async (_, gives) => {
      const { conversation, scene } = await cutOff();
      const before = await eventsOf(conversation);
      const { engine } = scene.process({ onInDoubt: () => outputOf(gives()) });
      await expect(conversation.run(engine)).rejects.toThrow(/the output that settles charge is not JSON: ./);
      expect(await eventsOf(conversation)).toHaveLength(before.length);
      const ledger = scene.process({ onInDoubt: () => ({ how: "result", output: "found in the ledger" }) });
      expect(await ledger.conversation.run(ledger.engine)).toMatchObject({ status: "completed", text: "an answer" });
    },
  );

  test("parks the run before any layer is executed again", async () => {
    const frames: string[] = [];
    const watching = layer("watching", (turn, next, ctx) => {
      frames.push(ctx.frame);
      return next(turn);
    });
    const { conversation, scene } = await cutOff({ middleware: [watching] });
    frames.length = 0;
    const { engine } = scene.process();
    expect(await conversation.run(engine)).toMatchObject({ status: "parked" });
    expect(frames).toEqual([]);
  });

  test("is parked with all that are in doubt beside it, but for what the app could settle", async () => {
    const [charge, refund] = [counted("charge", false), counted("refund", false)];
    const calls = calling(["charge", "{}", "a"], ["refund", "{}", "b"], ["charge", "{}", "c"]);
    const scene = createScene([calls, "an answer"], { tools: [charge.tool, refund.tool] });
    const first = scene.process();
    await first.conversation.append("hello");
    let held = 0;
    await dieAt(first, (stop) => stop.kind === "tool" && ++held === 3);
    const begun = charge.runs.length + refund.runs.length;
    const { conversation, engine } = scene.process({
      onInDoubt: ({ name, call }) =>
        name === "refund" ? { how: "result", output: `refunded ${call?.callId ?? ""}` } : null,
    });
    const { status, waitingFor } = await conversation.run(engine);
    expect({ status, names: waitingFor.map(({ name }) => name) }).toEqual({
      status: "parked",
      names: ["charge", "charge"],
    });
    const types = ["RunResumed", "ToolParked", "ToolParked", "ToolSettled", "ToolParked", "RunParked"];
    expect(typesOf(await eventsOf(conversation)).slice(-types.length)).toEqual(types);
    for (const { blockId } of waitingFor) {
      expect(await conversation.run(engine)).toMatchObject({ status: "parked" });
      await conversation.settle(blockId, { how: "result", output: "charged" });
    }
    expect((await conversation.run(engine)).text).toBe("an answer");
    expect((await textsOf(conversation)).slice(4, 7)).toEqual(["charged", "refunded b", "charged"]);
    expect(charge.runs.length + refund.runs.length).toBe(begun);
  });

  test("beside a call that may be run again waits alone: the other is answered once it is settled", async () => {
    const charge = counted("charge", false);
    const lookUp = counted("look-up", true);
    const tools = [charge.tool, lookUp.tool];
    const scene = createScene([calling(["charge", "{}"], ["look-up", "{}"]), "an answer"], { tools });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, inTool("look-up", "before"));
    const { conversation, engine } = scene.process();
    const { waitingFor } = await conversation.run(engine);
    expect(waitingFor.map(({ name }) => name)).toEqual(["charge"]);
    expect(lookUp.runs).toHaveLength(0);
    await conversation.settle(waitingFor[0]?.blockId ?? "", { how: "rerun" });
    expect((await conversation.run(engine)).text).toBe("an answer");
    expect(lookUp.runs).toHaveLength(1);
  });
});

test("a result that a person gave takes the place of the call's own, also if the run fails later", async () => {
  const charge = counted("charge", false);
  const lookUp = counted("look-up", true);
  const refusal = { error: { message: "no more" } };
  const script = [calling(["charge", "{}", "a"], ["look-up", "{}", "b"]), calling(["look-up", "{}", "c"]), refusal];
  const scene = createScene(script, { tools: [charge.tool, lookUp.tool] });
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, inTool("charge", "after"));
  const { conversation, engine } = scene.process();
  const { waitingFor } = await conversation.run(engine);
  await conversation.settle(waitingFor[0]?.blockId ?? "", { how: "result", output: "charged, says the bank" });
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-failed" });
  const results = (await conversation.turn()).blocks.filter(({ kind }) => kind === "tool_result");
  expect(results.map(({ text }) => text)).toEqual(["charged, says the bank", "look-up done", "look-up done"]);
});

test("a call of an unknown tool gets the same error again, and waits for no person", async () => {
  const lookUp = counted("look-up", true);
  const scene = createScene([calling(["no-such-tool", "{}"]), "an answer"], { tools: [lookUp.tool] });
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, inTool("no-such-tool", "after"));
  const { conversation, engine } = scene.process();
  expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "an answer" });
});

/** A settlement that its type does not allow, as JavaScript may give one. */
const outputOf = (output: unknown) => ({ how: "result", output }) as Settlement;

describe("a layer's effect", () => {
  const fetching = (idempotent: boolean, fetched: string[]): Layer =>
    layer("fetching", async (turn, next, ctx) => {
      const found = await ctx.effect(
        "fetch",
        ({ idempotencyKey }) => {
          fetched.push(idempotencyKey);
          return { page: fetched.length };
        },
        { idempotent },
      );
      return next(turn.append(user(JSON.stringify(found))));
    });

  test("is done once, durably begun before, and answered from the log when the run is taken up", async () => {
    const fetched: string[] = [];
    const scene = createScene(["an answer"], { middleware: [fetching(false, fetched)] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(0));
    const { conversation, engine } = scene.process();
    await conversation.run(engine);
    expect(fetched).toHaveLength(1);
    expect(await textsOf(conversation)).toEqual(["hello", '{"page":1}', "an answer"]);
    const types = typesOf(await eventsOf(conversation));
    expect(types.indexOf("EffectStarted")).toBeLessThan(types.indexOf("EffectFinished"));
  });

  test.each([true, false])("that was cut off is done again only if it is idempotent (%s)", async (idempotent) => {
    const fetched: string[] = [];
    const scene = createScene(["an answer"], { middleware: [fetching(idempotent, fetched)] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, (stop) => stop.kind === "effect" && stop.phase === "after");
    const { conversation, engine } = scene.process();
    const { status } = await conversation.run(engine);
    expect({ status, times: fetched.length }).toEqual(
      idempotent ? { status: "completed", times: 2 } : { status: "parked", times: 1 },
    );
    expect(new Set(fetched).size).toBe(1);
  });

  test("fails the same way when it is answered from the log", async () => {
    const failures: unknown[] = [];
    const failing = layer("failing", async (turn, next, ctx) => {
      const error = await rejectionOf(
        ctx.effect("break", () => {
          throw new Error("no such page");
        }),
      );
      failures.push(error);
      return next(turn);
    });
    const scene = createScene(["an answer"], { middleware: [failing] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(0));
    const { conversation, engine } = scene.process();
    await conversation.run(engine);
    expect(failures).toMatchObject(
      [0, 1].map(() => ({ name: "EffectFailedError", message: "no such page", effect: "break" })),
    );
  });

  test.each([100_001, 0, Number.NaN])("does not begin when it may take %d ms", async (timeoutMs) => {
    const patient = layer("patient", async (turn, next, ctx) => {
      await ctx.effect("wait", () => "waited", { timeoutMs });
      return next(turn);
    });
    const { conversation, engine } = createScene(["an answer"], {
      middleware: [patient],
      takeoverAfterMs: 100_000,
    }).process();
    await conversation.append("hello");
    const failure = await rejectionOf(conversation.run(engine));
    expect(String(failure)).toContain(`the limit of the effect wait is ${timeoutMs} ms`);
    expect(typesOf(await eventsOf(conversation))).not.toContain("EffectStarted");
  });
});
