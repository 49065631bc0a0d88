import { expect, test } from "vitest";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { createScene, layer } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { rejectionOf } from "../../support/workshop.ts";

/** Runs in an engine that keeps the last part. */
function watched() {
  const shown: RunPart[] = [];
  return { shown, observers: [{ next: (part: RunPart) => shown.push(part) }] };
}

test("a run that fails ends with a part that says why, and which layer threw", async () => {
  const { shown, observers } = watched();
  const failing = layer("failing", () => Promise.reject(new Error("no luck")));
  const { conversation, engine } = createScene([], { observers, middleware: [failing] }).process();
  await conversation.append("hello");
  const error = await rejectionOf(conversation.run(engine));
  expect(error).toMatchObject({ code: "run-failed", kind: "layer-failed" });
  expect(shown.at(-1)).toMatchObject({
    ...{ type: "run-failed", outcome: "failed", kind: "layer-failed" },
    thrownBy: { layer: "failing", frame: "0" },
  });
  expect(JSON.stringify(shown.at(-1))).toContain("no luck");
});

test("a run that is cancelled ends with a part that says so, for observers and for the reader of a stream", async () => {
  const { shown, observers } = watched();
  const abort = new AbortController();
  const leaving = { next: ({ type }: RunPart) => type === "request-start" && abort.abort(new Error("enough")) };
  const scene = createScene(["an answer"], { observers: [...observers, leaving] });
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  const read: RunPart[] = [];
  const reading = (async () => {
    for await (const part of conversation.stream(engine, { signal: abort.signal })) read.push(part);
  })();
  expect(await rejectionOf(reading)).toMatchObject({ code: "run-cancelled" });
  expect([read.at(-1), shown.at(-1)]).toMatchObject(
    Array.from({ length: 2 }, () => ({
      type: "run-failed",
      outcome: "cancelled",
      kind: "run-cancelled",
      thrownBy: null,
    })),
  );
});

test("a run that goes on elsewhere or later is shown as left open", async () => {
  const { shown, observers } = watched();
  const scene = createScene(["an answer"], { observers });
  const store = scene.store();
  const { engine } = scene.process({
    middleware: [
      layer("closing", (turn, next) => {
        void store.close();
        return next(turn);
      }),
    ],
  });
  const conversation = store.conversation("cnv_scene");
  await conversation.append("hello");
  expect(await rejectionOf(conversation.run(engine))).toMatchObject({ code: "run-parked" });
  expect(shown.at(-1)).toMatchObject({ type: "run-failed", outcome: "left-open", kind: "run-parked" });
});

test("nothing is shown of a run after its end, whatever its tools still do", async () => {
  const { shown, observers } = watched();
  const scene = createScene([calling(["unknown", "{}"]), "an answer"], { observers });
  const { conversation, engine } = scene.process();
  await conversation.append("hello");
  await conversation.run(engine);
  expect(shown.map(({ type }) => type).filter((type) => /^run-/.test(type))).toEqual(["run-start", "run-end"]);
  expect(shown.at(-1)?.type).toBe("run-end");
});

test("of a run that was cut off and diverges, a stream shows the failure that its caller gets", async () => {
  const scene = createScene(["an answer"], {});
  const text = { now: "one" };
  const drifting = () =>
    layer("drifting", async (turn, next) => next(turn.replaceEach(turn.blocks, (block) => block.withText(text.now))));
  const first = scene.process({ middleware: [drifting()] });
  await first.conversation.append("hello");
  const stepping = first.conversation.step(first.engine);
  stepping.result.catch(() => undefined);
  for await (const stop of stepping) if (stop.kind === "inference") break;
  await stepping.result.catch(() => undefined);
  text.now = "two";
  const { conversation, engine } = scene.process({ middleware: [drifting()] });
  const read: RunPart[] = [];
  const reading = (async () => {
    for await (const part of conversation.stream(engine)) read.push(part);
  })();
  expect(await rejectionOf(reading)).toMatchObject({ code: "replay-diverged" });
  expect(read).toMatchObject([{ type: "run-failed", outcome: "left-open", kind: "replay-diverged" }]);
});
