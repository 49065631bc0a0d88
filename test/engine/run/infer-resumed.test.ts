import { describe, expect, test } from "vitest";
import { user } from "../../../src/domain/make-block.ts";
import type { LayerContext, Next } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { replayFolds } from "../../../src/replay/fold-replay.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { beforeRequest, counted, createScene, layer } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

type Turned = Parameters<Next>[0];

const asking = (ask: (ctx: LayerContext, turn: Turned) => Promise<string>) =>
  layer("judge", async (turn, next, ctx) => next(turn.append(user(`Judge: ${await ask(ctx, turn)}`))));

const short = asking(async (ctx) => (await ctx.infer({ input: "Is it safe?" })).text);
const onTurn = asking(async (ctx, turn) => (await ctx.infer({ input: turn.append(user("Sum it up.")) })).text);

describe("a run that was cut off with a layer that asks", () => {
  const lookUp = counted("look-up", true);
  const provider = () =>
    scripted(({ context }) => {
      const [last] = JSON.stringify(context.at(-1)).match(/Sum it up/) ?? [];
      if (last !== undefined) return "a sum";
      return context.some(({ type }) => type === "function_call_output") ? "Hello." : calling(["look-up", "{}"]);
    });

  test("asks once whatever was answered, at whichever stop it died", async () => {
    for (let at = 0; ; at += 1) {
      const scene = createScene([], { provider: provider(), tools: [lookUp.tool], middleware: [onTurn] });
      const first = scene.process();
      await first.conversation.append("hello");
      const stepping = first.conversation.step(first.engine);
      const ended = stepping.result.then(
        () => true,
        () => false,
      );
      let stops = 0;
      for await (const _ of stepping) {
        if (stops === at) break;
        stops += 1;
      }
      if (await ended) {
        expect(at).toBeGreaterThan(16);
        return;
      }
      const { conversation, engine } = scene.process();
      const result = await conversation.run(engine);
      const events = await eventsOf(conversation);
      const where = `stop ${at}`;
      expect(result.status, where).toBe("completed");
      // Only the answer that was lost with the process was asked for again.
      const lost = dataOf(events, "InferenceFailed").filter(({ kind }) => kind === "interrupted").length;
      expect(lost, where).toBeLessThanOrEqual(1);
      expect(dataOf(events, "ResponseReceived"), where).toHaveLength(4);
      expect((await replayFolds(conversation)).difference, where).toBeNull();
      expect((await reexecute(conversation, engine)).difference, where).toBeNull();
    }
  });

  test("is answered from the log, and nothing is asked again", async () => {
    const scene = createScene(["yes", "Hello."], { middleware: [short] });
    const first = scene.process();
    await first.conversation.append("hello");
    const stepping = first.conversation.step(first.engine);
    stepping.result.catch(() => undefined);
    const at = beforeRequest(1);
    for await (const stop of stepping) if (at(stop)) break;
    const { conversation, engine } = scene.process();
    expect(await conversation.run(engine)).toMatchObject({
      text: "Hello.",
      resumed: true,
      asides: [{ frame: "0.a0" }],
    });
    expect(scene.provider.requests).toHaveLength(2);
  });
});
