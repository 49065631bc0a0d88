import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { rejectionOf as whenAborted } from "../../../src/base/abort.ts";
import { assistant, user } from "../../../src/domain/make-block.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import type { Layer } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { asked, beforeRequest, counted, createScene, dieAt, inTool, layer, textsOf } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

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

  test("goes on although a tool of an earlier run has come back since", async () => {
    const [finish, cancel] = [Promise.withResolvers<string>(), new AbortController()];
    const slow = tool({
      name: "slow",
      description: "Takes its time.",
      inputSchema: z.object({}),
      execute() {
        cancel.abort();
        return finish.promise;
      },
    });
    const scene = createScene([calling(["slow", "{}"]), "an answer"], { tools: [slow] });
    const first = scene.process();
    await first.conversation.append("hello");
    await rejectionOf(first.conversation.run(first.engine, { signal: cancel.signal }));
    await dieAt(first, beforeRequest(0));
    finish.resolve("at last");
    await vi.waitFor(async () => expect((await eventsOf(first.conversation)).at(-1)?.event.type).toBe("ToolFinished"));
    const { conversation, engine } = scene.process();
    expect(await conversation.run(engine)).toMatchObject({ text: "an answer", resumed: true });
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

  test("is reported if the caller wants to look first, and nothing is written", async () => {
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
    const turn = await (await conversation.run(engine, { unfinished: "abandon" })).turn();
    expect(turn.blocks.map(({ kind }) => kind)).toEqual(["user", "tool_call", "tool_result", "assistant"]);
    expect(dataOf(await eventsOf(conversation), "ToolFinished")).toMatchObject([{ outcome: "in-doubt" }]);
    expect(charge.runs).toEqual([]);
  });

  test("shows nothing twice, and begins with its current state", async () => {
    const parts: RunPart[] = [];
    const lookUp = counted("look-up", true);
    const scene = createScene([calling(["look-up", "{}"]), "an answer"], { tools: [lookUp.tool] });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(1));
    const { conversation, engine } = scene.process({ observers: [{ next: (part) => parts.push(part) }] });
    await conversation.run(engine);
    expect(parts.map(({ type }) => type).filter((type) => !type.endsWith("delta"))).toEqual([
      ...["resumed", "attempt-discarded", "request-start", "item-start", "block", "usage", "run-end"],
    ]);
    const [resumed] = parts;
    expect(resumed?.type === "resumed" && resumed.turn.blocks.map(({ kind }) => kind)).toEqual([
      ...["user", "tool_call", "tool_result"],
    ]);
  });

  test("asks again where an answer was lost with the process, or fails where that is wanted", async () => {
    for (const onLostResponse of ["retry", "fail"] as const) {
      const scene = createScene(["lost", "an answer"], { onLostResponse });
      const first = scene.process();
      await first.conversation.append("hello");
      await dieAt(first, (stop) => stop.kind === "inference" && stop.phase === "after");
      const { conversation, engine } = scene.process();
      const outcome = await conversation.run(engine).catch((error: unknown) => error);
      expect(asked(scene.provider)).toBe(onLostResponse === "retry" ? 2 : 1);
      expect(outcome).toMatchObject(onLostResponse === "retry" ? { text: "an answer" } : { kind: "interrupted" });
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

  test("asks what servers knew then, and not what they came to know", async () => {
    const asking = layer("asking", async (turn, next, ctx) => {
      const unsent = `${ctx.unsent.size} unsent`;
      // Its answer makes a context that the Turn began with.
      await next(turn.slice(1));
      return next(turn.append(user(unsent)));
    });
    const scene = createScene(["the same", "an answer"], { middleware: [asking] });
    const first = scene.process();
    await first.conversation.append([user("hello"), assistant("the same"), user("and?")]);
    await dieAt(first, beforeRequest(1));
    const { conversation, engine } = scene.process();
    await conversation.run(engine);
    expect(await textsOf(conversation)).toEqual(["hello", "the same", "and?", "3 unsent", "an answer"]);
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

/** Many turns of the event loop, in which a layer waits for something of its own. */
async function ownWait(): Promise<void> {
  for (let turn = 0; turn < 1_000; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe("a layer that takes its time while the run is executed again", () => {
  const cutOffAfter = async (layers: readonly Layer[], requests: number) => {
    const scene = createScene(["one", "two", "three"], { middleware: layers });
    const first = scene.process();
    await first.conversation.append("hello");
    await dieAt(first, beforeRequest(requests));
    return scene;
  };

  test("is waited for beside an effect that was cut off", async () => {
    const audit = Promise.withResolvers<string>();
    const patient = layer("patient", async (turn, next, ctx) => {
      const audited = ctx.effect("audit", () => audit.promise, { idempotent: true });
      audited.catch(() => undefined);
      await ownWait();
      const found = await ctx.effect("look-up", () => "found");
      const result = await next(turn.append(user(found)));
      await audited;
      return result;
    });
    const scene = await cutOffAfter([patient], 0);
    audit.resolve("audited");
    const { conversation, engine } = scene.process({ sleep: (_, signal) => whenAborted(signal) });
    expect(await conversation.run(engine)).toMatchObject({ resumed: true, status: "completed" });
    expect(await textsOf(conversation)).toEqual(["hello", "found", "one"]);
  });

  test("is waited for however often the time for being stuck has passed, while it is at its own work", async () => {
    const told = Promise.withResolvers<undefined>();
    const thorough = layer("thorough", async (turn, next, ctx) => {
      ctx.onAcknowledged(() => told.promise);
      const result = await next(turn);
      await ownWait();
      await ctx.effect("look-up", () => "found");
      return next(result.append(user("and then?")));
    });
    const scene = await cutOffAfter([thorough], 1);
    told.resolve(undefined);
    let waits = 0;
    const { conversation, engine } = scene.process({
      async sleep() {
        waits += 1;
      },
    });
    expect(await conversation.run(engine)).toMatchObject({ resumed: true, status: "completed" });
    expect(waits).toBeGreaterThan(1);
  });

  test("and waits for what the log does not have is stuck after stuckAfterMs, and told by its name", async () => {
    let lives = 0;
    const changed = layer("changed", async (turn, next, ctx) => {
      const result = await next(turn);
      if (lives > 0) await ctx.effect("peek", () => "seen");
      return next(result.append(user("and then?")));
    });
    const scene = await cutOffAfter([changed], 1);
    lives += 1;
    const waits: number[] = [];
    const { conversation, engine } = scene.process({
      stuckAfterMs: 50,
      async sleep(ms) {
        waits.push(ms);
      },
    });
    const before = (await eventsOf(conversation)).length;
    expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "replay-diverged", layer: "changed" });
    expect(waits).toEqual([50]);
    expect(await eventsOf(conversation)).toHaveLength(before);
  });

  test("does not hold up a caller who gives up waiting", async () => {
    let lives = 0;
    const abort = new AbortController();
    const changed = layer("changed", async (turn, next, ctx) => {
      if (lives > 0) await ctx.effect("peek", () => "seen");
      return next(turn);
    });
    const scene = await cutOffAfter([changed], 0);
    lives += 1;
    const { conversation, engine } = scene.process({
      sleep(_, signal) {
        abort.abort();
        return whenAborted(signal);
      },
    });
    const failure = await rejectionOf(conversation.run(engine, { signal: abort.signal }));
    expect(failure).toMatchObject({ code: "run-cancelled" });
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
    expect(error).toMatchObject({ code: "replay-diverged", frame: "0.0.0", layer: "behind", blockIndex: 1 });
    expect(String(error)).toMatch(
      /at frame 0\.0\.0, layer behind \(revision \d+\): block 1 \(run_\S+\) of .* differs; .*onDiverged: "abandon"/,
    );
    expect(asked(scene.provider)).toBe(1);
    await unchanged();
  });

  test("a layer that reaches outside where it had not reaches nothing before all of the log was met", async () => {
    const reached: string[] = [];
    let lives = 0;
    const curious = layer("curious", async (turn, next, ctx) => {
      if (lives > 0) await ctx.effect("peek", ({ idempotencyKey }) => reached.push(idempotencyKey));
      return next(turn);
    });
    const { scene, unchanged } = await cutOff({ middleware: [curious] });
    lives += 1;
    const { conversation, engine } = scene.process();
    expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "replay-diverged" });
    expect(reached).toEqual([]);
    await unchanged();
  });

  test("a run whose layers do something else is given up where the caller says so, and answered anew", async () => {
    let lives = 0;
    const changed = layer("changed", (turn, next) => next(lives === 0 ? turn : turn.append(user("be brief"))));
    const { scene } = await cutOff({ middleware: [changed] });
    lives += 1;
    const { conversation, engine } = scene.process();
    const error = await rejectionOf(conversation.run(engine));
    expect(error).toMatchObject({ code: "replay-diverged", layer: "changed", blockIndex: 1 });
    const result = await conversation.run(engine, { onDiverged: "abandon" });
    expect(result).toMatchObject({ text: "an answer", isNew: true, resumed: false });
    const [failed, ...others] = dataOf(await eventsOf(conversation), "RunFailed");
    expect({ kind: failed?.kind, others, closedRun: result.closedRun !== null }).toEqual({
      kind: "diverged",
      others: [],
      closedRun: true,
    });
  });

  test("an effect is not answered by another one that stood in its place", async () => {
    let lives = 0;
    const moody = layer("moody", async (turn, next, ctx) => {
      const found = await ctx.effect(lives === 0 ? "fetch" : "guess", () => lives);
      return next(turn.append(user(`found ${JSON.stringify(found)}`)));
    });
    const { scene, unchanged } = await cutOff({ middleware: [moody] });
    lives += 1;
    const { conversation, engine } = scene.process();
    const error = await rejectionOf(conversation.run(engine));
    expect(error).toMatchObject({ code: "replay-diverged", frame: "0.0", field: "name", layer: "moody" });
    expect(String(error)).toContain("guess was started instead of fetch");
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
    expect(dataOf(await eventsOf(conversation), "RunFailed")).toMatchObject([
      { kind: "stack-changed", message: expect.stringMatching(/began with: its /) as unknown },
    ]);
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
