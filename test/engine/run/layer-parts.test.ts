import { expect, test } from "vitest";
import * as z from "zod";
import { assistant } from "../../../src/domain/make-block.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { toolLoop } from "../../../src/engine/options/tool-loop.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { refunds } from "../../support/run/approvals.ts";
import { beforeRequest, counted, createScene, dieAt, inTool, layer } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

/** An observer that keeps the parts whose type begins so. */
function watched(prefix: RegExp) {
  const shown: RunPart[] = [];
  return { shown, observers: [{ next: (part: RunPart) => prefix.test(part.type) && shown.push(part) }] };
}

const outline = (parts: readonly RunPart[]): readonly string[] =>
  parts.map((part) =>
    part.type === "layer-end"
      ? `${part.layer} ${part.outcome}`
      : part.type === "layer-start"
        ? `${part.layer} begins`
        : part.type === "data"
          ? `${part.name} ${JSON.stringify(part.data)}`
          : part.type,
  );

const passing = layer("passing", (turn, next) => next(turn));

test("calls of layers are shown with their outcomes and times, for every step", async () => {
  const { shown, observers } = watched(/^layer/);
  const look = counted("look-up", true);
  const outer = layer("outer", async (turn, next) => next(turn), "1.2.0");
  const config = { observers, tools: [look.tool], middleware: [outer, passing] };
  const { conversation, engine } = createScene([calling(["look-up", "{}"]), "an answer"], config).process();
  await conversation.append("hello");
  await conversation.run(engine);
  const step = ["outer begins", "passing begins", "passing completed", "outer completed"];
  expect(outline(shown)).toEqual([...step, ...step]);
  expect(shown[0]).toEqual({ type: "layer-start", frame: "0.0", layer: "outer", version: "1.2.0" });
  const end = shown[3];
  if (end?.type !== "layer-end") throw new Error("the outer layer did not end");
  expect(end).toMatchObject({ frame: "0.0", layer: "outer", version: "1.2.0", message: null });
  expect(end.durationMs).toBeGreaterThanOrEqual(end.ownMs);
  expect(end.ownMs).toBeGreaterThanOrEqual(0);
});

test("a layer that answers itself is shown as short-circuited, and one that throws with its error", async () => {
  const { shown, observers } = watched(/^layer/);
  const caught = layer("catching", (turn, next) => next(turn).catch(() => next(turn)));
  let calls = 0;
  const failing = layer("failing", async (turn) => {
    calls += 1;
    if (calls === 1) throw new Error("no luck");
    return turn.append(assistant("from a cache"));
  });
  const { conversation, engine } = createScene([], { observers, middleware: [caught, failing] }).process();
  await conversation.append("hello");
  expect((await conversation.run(engine)).text).toBe("from a cache");
  expect(outline(shown)).toEqual([
    ...["catching begins", "failing begins", "failing failed", "failing begins", "failing short-circuited"],
    "catching completed",
  ]);
  expect(shown[2]).toMatchObject({ message: "no luck" });
});

test("a run that waits shows no end of the layers that will be called again", async () => {
  const { shown, observers } = watched(/^layer|^run-end/);
  const { tool: refund } = refunds();
  // The tool loop is within the layer.
  const config = { observers, middleware: [passing, toolLoop([refund])] };
  const { conversation, engine } = createScene([calling(["refund", '{"amount":5}'])], config).process();
  await conversation.append("hello");
  expect((await conversation.run(engine)).status).toBe("parked");
  expect(outline(shown)).toEqual(["passing begins", "run-end"]);
});

const telling = layer("telling", async (turn, next, ctx) => {
  ctx.emit("sources", { found: 2 });
  return next(turn);
});

test("layers and tools show data of their own, with who showed it, and nothing of that is recorded", async () => {
  const { shown, observers } = watched(/^data/);
  const config = { observers, tools: [working], middleware: [telling] };
  const { conversation, engine } = createScene([calling(["work", "{}"]), "an answer"], config).process();
  await conversation.append("hello");
  await conversation.run(engine);
  expect(outline(shown)).toEqual(['sources {"found":2}', "progress 0.5", 'sources {"found":2}']);
  expect(shown).toMatchObject([
    { frame: "0.0", layer: "telling", call: null },
    { frame: "0", layer: null, call: { kind: "tool_call", name: "work" } },
    { frame: "0.1", layer: "telling", call: null },
  ]);
  const events = await eventsOf(conversation);
  expect(JSON.stringify(events)).not.toMatch(/"sources"|"progress"/);
  expect(typesOf(events)).toContain("RunCompleted");
});

const working = tool({
  ...{ name: "work", description: "Works.", inputSchema: z.object({}), idempotent: true },
  execute(_, { emit }) {
    emit("progress", 0.5);
    return "done";
  },
});

test("data that was shown is not shown again while the log answers, and a tool that begins again shows its own again", async () => {
  const { shown, observers } = watched(/^data|^resumed/);
  const scene = createScene([calling(["work", "{}"]), "an answer"], { tools: [working], middleware: [telling] });
  const first = scene.process({ observers });
  await first.conversation.append("hello");
  await dieAt(first, inTool("work", "after"));
  expect(outline(shown.splice(0))).toEqual(['sources {"found":2}', "progress 0.5"]);
  const second = scene.process({ observers });
  await dieAt(second, beforeRequest(0));
  expect(outline(shown.splice(0))).toEqual(["resumed", "progress 0.5", 'sources {"found":2}']);
});

test.each([
  ["a function", () => undefined],
  ["a date", new Date(0)],
  ["undefined", undefined],
])("data that is %s is refused, whether or not anybody watches", async (_, data) => {
  for (const observers of [[], watched(/^data/).observers]) {
    // A caller without types.
    const bad = layer("bad", (turn, next, ctx) => {
      ctx.emit("progress", data as unknown as null);
      return next(turn);
    });
    const { conversation, engine } = createScene(["an answer"], { observers, middleware: [bad] }).process();
    await conversation.append("hello");
    expect(await rejectionOf(conversation.run(engine))).toMatchObject({
      code: "run-failed",
      cause: { name: "TypeError" },
    });
  }
});
