import { expect, test, vi } from "vitest";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import type { Observer, PartPlace } from "../../../src/engine/options/engine.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { maxWaitingDeltas, maxWaitingParts, Sink } from "../../../src/engine/run/sink.ts";
import { createScene } from "../../support/run/scene.ts";
import { createWorkshop, rejectionOf } from "../../support/workshop.ts";

const placeOf = (sequence: number): PartPlace => ({
  conversationId: conversationIdSchema.parse("cnv_watched1"),
  runId: "run_1",
  sequence,
});

const delta = (text: string): RunPart => ({ type: "text-delta", frame: "0", outputIndex: 0, text });
const fact: RunPart = { type: "layer-start", frame: "0", layer: "one", version: "1.0.0" };

/** An observer that answers when it is told to. */
function slowSink() {
  const got: { readonly part: RunPart; readonly sequence: number }[] = [];
  const answers: (() => void)[] = [];
  const observer: Observer = {
    next(part, { sequence }) {
      got.push({ part, sequence });
      return new Promise<void>((resolve) => answers.push(resolve));
    },
  };
  const answer = async (): Promise<void> => {
    answers.shift()?.();
    await new Promise(setImmediate);
  };
  return { got, answer, sink: new Sink(observer) };
}

test("an observer that returns a promise gets one part after another, in order", async () => {
  const { got, answer, sink } = slowSink();
  for (const n of [0, 1, 2]) sink.take(delta(`${n}`), placeOf(n));
  expect(got.map(({ sequence }) => sequence)).toEqual([0]);
  await answer();
  expect(got.map(({ sequence }) => sequence)).toEqual([0, 1]);
  await answer();
  await answer();
  sink.take(fact, placeOf(3));
  expect(got.map(({ sequence }) => sequence)).toEqual([0, 1, 2, 3]);
});

test("an observer that lags loses deltas first, and learns how many parts it missed and where", async () => {
  const { got, answer, sink } = slowSink();
  sink.take(fact, placeOf(0));
  for (let n = 1; n <= maxWaitingDeltas + 3; n += 1) sink.take(delta("x"), placeOf(n));
  sink.take(fact, placeOf(maxWaitingDeltas + 4));
  for (let n = 0; n < maxWaitingDeltas; n += 1) await answer();
  await answer();
  await answer();
  expect(got.slice(-2)).toEqual([
    { part: { type: "parts-dropped", count: 3 }, sequence: maxWaitingDeltas + 3 },
    { part: fact, sequence: maxWaitingDeltas + 4 },
  ]);
  expect(got).toHaveLength(maxWaitingDeltas + 3);
});

test("an observer that never answers keeps no more than a number of parts, whatever they are", async () => {
  const { got, answer, sink } = slowSink();
  for (let n = 0; n <= maxWaitingParts + 5; n += 1) sink.take(fact, placeOf(n));
  expect(got).toHaveLength(1);
  for (let n = 0; n <= maxWaitingParts; n += 1) await answer();
  expect(got).toHaveLength(maxWaitingParts + 2);
  expect(got.at(-1)?.part).toEqual({ type: "parts-dropped", count: 5 });
});

test("observers of a run get its parts besides those of the engine, and one that both have gets them once", async () => {
  const [both, own, other]: string[][] = [[], [], []];
  const keeping = (list: string[] | undefined): Observer => ({ next: ({ type }) => list?.push(type) });
  const shared = keeping(both);
  const { conversation, engine } = createScene(["one", "two"], { observers: [shared, keeping(other)] }).process();
  await conversation.append("hello");
  await conversation.run(engine, { observers: [shared, keeping(own)] });
  expect(own?.at(0)).toBe("run-start");
  expect(own?.at(-1)).toBe("run-end");
  expect(both).toEqual(own);
  await conversation.append("again");
  await conversation.run(engine);
  expect(both).toHaveLength((own?.length ?? 0) * 2);
  expect(other).toEqual(both);
});

test("an observer that fails, now or later, is warned of once for each type of part, and gets the parts that follow", async () => {
  const warnings: string[] = [];
  const warned = vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(String(warning)));
  const got: string[] = [];
  const sink = new Sink({
    next({ type }) {
      got.push(type);
      if (type === "text-delta") throw new Error("no room for text");
      return Promise.reject(new Error("no room for layers"));
    },
  });
  for (const [n, part] of [delta("a"), fact, delta("b"), fact].entries()) sink.take(part, placeOf(n));
  while (got.length < 4) await new Promise(setImmediate);
  await new Promise(setImmediate);
  warned.mockRestore();
  expect(warnings).toEqual([
    expect.stringMatching(/^an observer failed at a part 'text-delta', and the run goes on: no room for text;/),
    expect.stringMatching(/^an observer failed at a part 'layer-start', and the run goes on: no room for layers;/),
  ]);
});

test("a run refuses what is no observer", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const { engine } = workshop.scripted(["an answer"]);
  await conversation.append("hello");
  // A caller without types.
  const observers = [console.log] as unknown as Observer[];
  expect(await rejectionOf(conversation.run(engine, { observers }))).toMatchObject({
    message: "run: observers[0] is a function, not an observer: give { next: (part) => … }, or an RxJS Subject",
  });
});
