import { describe, expect, test } from "vitest";
import * as z from "zod";
import { user } from "../../../src/domain/make-block.ts";
import type { Conversation } from "../../../src/engine/conversation.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/create-engine.ts";
import { defineMiddleware, type Layer, type LayerContext, type Next } from "../../../src/engine/middleware.ts";
import type { Stop } from "../../../src/engine/run/stop.ts";
import type { RunPart } from "../../../src/engine/stream-part.ts";
import { tool } from "../../../src/engine/tool.ts";
import { TurnlogStore } from "../../../src/engine/turnlog-store.ts";
import { type ScriptedAnswer, type ScriptedProvider, scripted } from "../../../src/providers/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";
import { calling } from "./tool-runs.ts";

/** One log and one model, and as many processes as are wanted. */
function createScene(answers: readonly ScriptedAnswer[], config: Partial<EngineConfig> = {}) {
  const events = createMemoryStore();
  const provider = scripted(answers);
  const clock = { now: Date.parse("2026-03-01T12:00:00.000Z") };
  const tick = (): number => {
    clock.now += 1;
    return clock.now;
  };
  const process = (changes: Partial<EngineConfig> = {}): Life => ({
    conversation: new TurnlogStore(events, { clock: tick }).conversation("cnv_scene"),
    engine: createEngine({ provider, clock: tick, ...config, ...changes }),
  });
  return { provider, process, clock };
}

type Life = { readonly conversation: Conversation; readonly engine: ReturnType<typeof createEngine> };

/** Runs until the stop, and dies there. */
async function dieAt({ conversation, engine }: Life, at: (stop: Stop) => boolean): Promise<void> {
  const stepping = conversation.step(engine);
  const told = stepping.result.catch((error: unknown) => error);
  for await (const stop of stepping) if (at(stop)) break;
  expect(await told).toMatchObject({ code: "stepping-left" });
}

const beforeRequest =
  (number: number) =>
  (stop: Stop): boolean =>
    stop.kind === "inference" && stop.phase === "before" && number-- === 0;

const inTool =
  (name: string, phase: Stop["phase"]) =>
  (stop: Stop): boolean =>
    stop.kind === "tool" && stop.call.name === name && stop.phase === phase;

const layer = (
  name: string,
  handle: (turn: Parameters<Next>[0], next: Next, ctx: LayerContext) => ReturnType<Next>,
  version = "1.0.0",
): Layer => defineMiddleware({ name, version }, (next) => (turn, ctx) => handle(turn, next, ctx));

/** A tool that counts how often it really ran. */
function counted(name: string, idempotent: boolean) {
  const runs: string[] = [];
  const each = tool({
    name,
    description: `Does ${name}.`,
    inputSchema: z.object({}),
    idempotent,
    execute: (_, { idempotencyKey }) => {
      runs.push(idempotencyKey);
      return `${name} done`;
    },
  });
  return { tool: each, runs };
}

const textsOf = async (conversation: Conversation): Promise<readonly string[]> =>
  (await conversation.turn()).blocks.map(({ text }) => text);

const asked = ({ requests }: ScriptedProvider): number => requests.length;

describe("a run that was cut off", () => {
  test("goes on where it stood, and what was answered is not asked again", async () => {
    const lookUp = counted("look-up", true);
    const scene = createScene([calling(["look-up", "{}"]), "an answer"], { tools: [lookUp.tool] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(1));
    const { conversation, engine } = scene.process();
    const result = await conversation.run(engine);
    expect(result).toMatchObject({ text: "an answer", status: "completed", resumed: true });
    expect(lookUp.runs).toHaveLength(1);
    const { requests } = scene.provider;
    expect(requests).toHaveLength(2);
    expect(requests[1]?.["previous_response_id"]).toMatch(/^resp_/);
    expect(typesOf(await eventsOf(conversation))).toContain("RunResumed");
  });

  test("is finished first, and who spoke meanwhile is answered next", async () => {
    const scene = createScene(["one", "two"]);
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(0));
    const { conversation, engine } = scene.process();
    await conversation.append("and me?");
    const result = await conversation.run(engine);
    expect(result).toMatchObject({ text: "two", resumed: false });
    expect(result.closedRun).not.toBeNull();
    expect(await textsOf(conversation)).toEqual(["hello", "one", "and me?", "two"]);
  });

  test("is told where the caller wants to look first, and nothing is written", async () => {
    const scene = createScene(["one"]);
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(0));
    const { conversation, engine } = scene.process();
    const before = (await eventsOf(conversation)).length;
    expect(await rejectionOf(conversation.run(engine, { unfinished: "throw" }))).toMatchObject({
      code: "run-unfinished",
    });
    expect(await eventsOf(conversation)).toHaveLength(before);
  });

  test("is given up where that is wanted: every call is answered, and a new run begins", async () => {
    const charge = counted("charge", false);
    const scene = createScene([calling(["charge", "{}"]), "a new answer"], { tools: [charge.tool] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, inTool("charge", "before"));
    const { conversation, engine } = scene.process();
    const { turn } = await conversation.run(engine, { unfinished: "abandon" });
    expect(turn.blocks.map(({ kind }) => kind)).toEqual(["user", "tool_call", "tool_result", "assistant"]);
    expect(dataOf(await eventsOf(conversation), "ToolFinished")).toMatchObject([{ outcome: "in-doubt" }]);
    expect(charge.runs).toEqual([]);
  });

  test("shows nothing again that was shown, and begins with where it stands", async () => {
    const parts: RunPart[] = [];
    const lookUp = counted("look-up", true);
    const scene = createScene([calling(["look-up", "{}"]), "an answer"], { tools: [lookUp.tool] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(1));
    const { conversation, engine } = scene.process({ sinks: [{ next: (part) => parts.push(part) }] });
    await conversation.run(engine);
    expect(parts.map(({ type }) => type).filter((type) => !type.endsWith("delta"))).toEqual([
      ...["resumed", "attempt-discarded", "request-start", "block", "run-end"],
    ]);
    const [resumed] = parts;
    expect(resumed?.type === "resumed" && resumed.turn.blocks.map(({ kind }) => kind)).toEqual([
      ...["user", "tool_call", "tool_result"],
    ]);
  });

  test("asks again where an answer was lost with the process, or fails where that is wanted", async () => {
    for (const onUnknown of ["again", "fail"] as const) {
      const scene = createScene(["lost", "an answer"], { onUnknown });
      const first = scene.process();
      await first.conversation.append("hello");
      await dieAt(first, (stop) => stop.kind === "inference" && stop.phase === "after");
      const { conversation, engine } = scene.process();
      const outcome = await conversation.run(engine).catch((error: unknown) => error);
      expect(asked(scene.provider)).toBe(onUnknown === "again" ? 2 : 1);
      expect(outcome).toMatchObject(onUnknown === "again" ? { text: "an answer" } : { kind: "interrupted" });
      expect(dataOf(await eventsOf(conversation), "InferenceFailed")).toMatchObject([
        { kind: "interrupted", outcome: "unknown" },
      ]);
    }
  });

  test("hears the recorded time, ids and chance again, however late it is", async () => {
    const stamps = (): Layer =>
      layer("stamps", (turn, next, ctx) => {
        const stamp = `${ctx.now()} ${ctx.random()} ${ctx.id()}`;
        return next(turn.append(user(stamp)));
      });
    const lookUp = counted("look-up", true);
    const config = { tools: [lookUp.tool], middleware: [stamps()] };
    const scene = createScene([calling(["look-up", "{}"]), "an answer"], config);
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(1));
    scene.clock.now += 1_000_000;
    await scene.process().conversation.append("much later");
    const { conversation, engine } = scene.process({ middleware: [stamps()] });
    expect((await conversation.resume(engine))?.status).toBe("completed");
  });

  test("is nothing to resume once it has ended", async () => {
    const scene = createScene(["one"]);
    const { conversation, engine } = scene.process();
    await conversation.append("hello");
    await conversation.run(engine);
    const before = (await eventsOf(conversation)).length;
    expect(await conversation.resume(engine)).toBeNull();
    expect(await eventsOf(conversation)).toHaveLength(before);
  });
});

describe("a call in doubt", () => {
  const script = [calling(["charge", "{}"]), "an answer"];

  async function parked(config: Partial<EngineConfig> = {}) {
    const charge = counted("charge", false);
    const scene = createScene(script, { tools: [charge.tool], ...config });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, inTool("charge", "after"));
    const life = scene.process();
    return { ...life, scene, charge, result: await life.conversation.run(life.engine) };
  }

  test("parks the run, which waits without an owner and writes nothing more", async () => {
    const { conversation, engine, result, charge } = await parked();
    const events = await eventsOf(conversation);
    expect(result).toMatchObject({ status: "parked", inDoubt: [{ name: "charge" }] });
    expect(typesOf(events).slice(-3)).toEqual(["RunResumed", "ToolParked", "RunParked"]);
    expect(await conversation.run(engine)).toMatchObject({ status: "parked" });
    expect(await eventsOf(conversation)).toHaveLength(events.length);
    expect(charge.runs).toHaveLength(1);
  });

  test.each([
    [{ how: "result", output: "it was done" }, "it was done", 1],
    [{ how: "rerun" }, "charge done", 2],
    [{ how: "abandon" }, "in doubt: the run was cut off while this ran; it may have taken effect", 1],
  ] as const)("is settled by a person: %j", async (settlement, told, runs) => {
    const { conversation, engine, result, charge } = await parked();
    const id = result.inDoubt[0]?.blockId ?? "";
    await conversation.settle(id, settlement, { kind: "operator", name: "ann" });
    expect((await conversation.run(engine)).text).toBe("an answer");
    expect((await textsOf(conversation))[2]).toBe(told);
    expect(charge.runs).toHaveLength(runs);
    expect(await rejectionOf(conversation.settle(id, settlement))).toMatchObject({ code: "not-in-doubt" });
  });

  test("that may run again is in doubt again when it is cut off once more", async () => {
    const { conversation, result, charge, scene } = await parked();
    await conversation.settle(result.inDoubt[0]?.blockId ?? "", { how: "rerun" });
    await dieAt(scene.process(), inTool("charge", "after"));
    const { engine } = scene.process();
    expect(await conversation.run(engine)).toMatchObject({ status: "parked" });
    expect(charge.runs).toHaveLength(2);
  });

  test("is settled by the app's handler, which is told what it was begun with", async () => {
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

  test("beside a call that may be run again waits alone: the other is answered first", async () => {
    const charge = counted("charge", false);
    const lookUp = counted("look-up", true);
    const tools = [charge.tool, lookUp.tool];
    const scene = createScene([calling(["charge", "{}"], ["look-up", "{}"]), "an answer"], { tools });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, inTool("look-up", "before"));
    const { conversation, engine } = scene.process();
    const { inDoubt } = await conversation.run(engine);
    expect(inDoubt.map(({ name }) => name)).toEqual(["charge"]);
    expect(lookUp.runs).toHaveLength(1);
    await conversation.settle(inDoubt[0]?.blockId ?? "", { how: "rerun" });
    expect((await conversation.run(engine)).text).toBe("an answer");
    expect(lookUp.runs).toHaveLength(1);
  });
});

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
});

describe("what cannot be taken up", () => {
  async function cutOff(config: Partial<EngineConfig>, at = beforeRequest(1)) {
    const lookUp = counted("look-up", true);
    const scene = createScene([calling(["look-up", "{}"]), "an answer", "another"], {
      tools: [lookUp.tool],
      ...config,
    });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, at);
    const before = (await eventsOf(first.conversation)).length;
    const unchanged = async (): Promise<void> => {
      expect(await eventsOf(scene.process().conversation)).toHaveLength(before);
    };
    return { scene, unchanged };
  }

  test("a layer that does something else is named at its frame, and nothing is sent or written", async () => {
    let calls = 0;
    const behind = layer("behind", (turn, next) => {
      calls += 1;
      return next(turn.append(user(`call ${calls}`)));
    });
    const { scene, unchanged } = await cutOff({ middleware: [behind] });
    const { conversation, engine } = scene.process();
    const error = await rejectionOf(conversation.run(engine));
    expect(error).toMatchObject({ code: "replay-diverged", frame: "0.0.0" });
    expect(asked(scene.provider)).toBe(1);
    await unchanged();
  });

  test("a layer cannot go on with a divergence that it caught", async () => {
    let calls = 0;
    const stubborn = layer("stubborn", async (turn, next) => {
      calls += 1;
      try {
        return await next(calls > 2 ? turn.append(user("behind the back")) : turn);
      } catch {
        return next(turn);
      }
    });
    const { scene, unchanged } = await cutOff({ middleware: [stubborn] });
    const { conversation, engine } = scene.process();
    expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "replay-diverged" });
    expect(asked(scene.provider)).toBe(1);
    await unchanged();
  });

  test.each([
    ["is missing", []],
    ["is another major version", [layer("idle", (turn, next) => next(turn), "2.0.0")]],
    ["has company", [layer("idle", (turn, next) => next(turn)), layer("new", (turn, next) => next(turn))]],
  ])("a stack where a layer %s: resume refuses, run gives up and says so", async (_, middleware) => {
    const idle = layer("idle", (turn, next) => next(turn));
    const { scene, unchanged } = await cutOff({ middleware: [idle] });
    const { conversation, engine } = scene.process({ middleware });
    expect(await rejectionOf(conversation.resume(engine))).toMatchObject({ code: "stack-changed" });
    const refused = conversation.run(engine, { onStackChanged: "throw" });
    expect(await rejectionOf(refused)).toMatchObject({ code: "stack-changed" });
    await unchanged();
    expect((await conversation.run(engine)).text).toBe("an answer");
    expect(dataOf(await eventsOf(conversation), "RunFailed")).toMatchObject([{ kind: "stack-changed" }]);
  });

  test("a layer of another minor version goes on", async () => {
    const { scene } = await cutOff({ middleware: [layer("idle", (turn, next) => next(turn))] });
    const { conversation, engine } = scene.process({
      middleware: [layer("idle", (turn, next) => next(turn), "1.7.0")],
    });
    expect(await conversation.resume(engine)).toMatchObject({ text: "an answer" });
  });

  test("a call whose tool is gone: it is said which, and nothing is changed", async () => {
    const { scene, unchanged } = await cutOff({}, inTool("look-up", "before"));
    const other = counted("other", true);
    const { conversation, engine } = scene.process({ tools: [other.tool] });
    const error = await rejectionOf(conversation.resume(engine));
    expect(error).toMatchObject({ code: "tool-missing" });
    expect(String(error)).toContain("look-up");
    await unchanged();
  });
});

test("a call of a tool that never was there is told so again, and waits for nobody", async () => {
  const lookUp = counted("look-up", true);
  const scene = createScene([calling(["no-such-tool", "{}"]), "an answer"], { tools: [lookUp.tool] });
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, inTool("no-such-tool", "after"));
  const { conversation, engine } = scene.process();
  expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "an answer" });
});

test("of two that take up one run at once, one proceeds and the other is told", async () => {
  const lookUp = counted("look-up", true);
  const scene = createScene([calling(["look-up", "{}"]), "an answer"], { tools: [lookUp.tool] });
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, beforeRequest(1));
  const lives = [scene.process(), scene.process()];
  const outcomes = await Promise.allSettled(lives.map(({ conversation, engine }) => conversation.resume(engine)));
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  const refused = outcomes.find((outcome) => outcome.status === "rejected");
  expect(refused?.reason).toMatchObject({ code: "run-in-progress" });
  expect(asked(scene.provider)).toBe(2);
});

test("a run that goes on in this very process is not taken up, not even by force", async () => {
  const scene = createScene(["slow"]);
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const stepping = conversation.step(engine);
  const refusals: unknown[] = [];
  for await (const stop of stepping) {
    if (stop.kind !== "inference") continue;
    const other = scene.process();
    refusals.push(await rejectionOf(other.conversation.run(other.engine)));
    refusals.push(await rejectionOf(other.conversation.run(other.engine, { takeover: true })));
  }
  expect(refusals).toMatchObject(Array.from({ length: 4 }, () => ({ code: "run-in-progress" })));
  expect((await stepping.result).text).toBe("slow");
});

describe("stepping", () => {
  test("shows every effect before and after it, in order", async () => {
    const lookUp = counted("look-up", true);
    const scene = createScene([calling(["look-up", "{}"]), "an answer"], { tools: [lookUp.tool] });
    const { conversation, engine } = scene.process();
    await conversation.append("hello");
    const stepping = conversation.step(engine);
    const stops: string[] = [];
    for await (const stop of stepping) stops.push(`${stop.phase} ${stop.kind}`);
    expect((await stepping.result).text).toBe("an answer");
    const around = (kind: string): readonly string[] => [`before ${kind}`, `after ${kind}`];
    expect(stops).toEqual(["append", "inference", "append", "tool", "append", "inference", "append"].flatMap(around));
  });

  test("lets someone speak, and answer in the place of tool and model", async () => {
    const lookUp = counted("look-up", true);
    const scene = createScene([calling(["look-up", "{}"]), "an answer"], { tools: [lookUp.tool] });
    const { conversation, engine } = scene.process();
    await conversation.append("hello");
    const stepping = conversation.step(engine);
    for await (const stop of stepping) {
      if (stop.phase === "before" && stop.kind === "tool") {
        await conversation.append("hurry up");
        stop.inject("an injected result");
      }
    }
    expect(lookUp.runs).toEqual([]);
    expect((await stepping.result).text).toBe("an answer");
    expect((await textsOf(conversation)).slice(2)).toEqual(["an injected result", "an answer", "hurry up"]);
  });
});
