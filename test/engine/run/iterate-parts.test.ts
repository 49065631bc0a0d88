import { expect, test } from "vitest";
import { user } from "../../../src/domain/make-block.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { iterateParts, maxBufferedDeltas, maxBufferedUnits } from "../../../src/engine/run/iterate-parts.ts";
import { createWorkshop, eventsOf, typesOf } from "../../support/workshop.ts";

const delta = (text: string): RunPart => ({ type: "text-delta", frame: "0", outputIndex: 0, text });
const fact: RunPart = { type: "block", frame: "0", block: user("hello") };

/** What a reader gets of parts that all came while it was busy. */
async function readLate(parts: readonly RunPart[]): Promise<readonly RunPart[]> {
  const read: RunPart[] = [];
  const queue = iterateParts(async (onPart) => parts.forEach(onPart));
  for await (const part of queue) read.push(part);
  return read;
}

const deltas = (count: number, text = "x"): readonly RunPart[] => Array.from({ length: count }, () => delta(text));

test("a reader that keeps up gets every delta", async () => {
  const parts = [...deltas(maxBufferedDeltas), fact];
  expect(await readLate(parts)).toEqual(parts);
});

test("once the buffer is full deltas are dropped and counted where they stood, and nothing else is", async () => {
  const parts = [...deltas(maxBufferedDeltas + 300), fact, ...deltas(20), fact, fact];
  const kept = parts.slice(0, maxBufferedDeltas);
  const dropped = (count: number): RunPart => ({ type: "deltas-dropped", count });
  expect(await readLate(parts)).toEqual([...kept, dropped(300), fact, dropped(20), fact, fact]);
});

test("the buffer is bounded by what deltas say as well", async () => {
  const long = "x".repeat(maxBufferedUnits / 4);
  const read = await readLate([...deltas(10, long), fact]);
  expect(read).toEqual([...deltas(4, long), { type: "deltas-dropped", count: 6 }, fact]);
});

test("of what an answer has cost so far a slow reader gets the newest, and deltas that were dropped are counted as before", async () => {
  const usage = (outputTokens: number, frame = "0.0"): RunPart => ({
    ...{ type: "usage", frame },
    usage: { inputTokens: 9, cachedInputTokens: 0, outputTokens, reasoningTokens: 0 },
  });
  const many = Array.from({ length: 400 }, (_, n) => [...deltas(1), usage(n)]).flat();
  const read = await readLate([usage(7, "0.1"), ...deltas(maxBufferedDeltas), ...many, fact]);
  expect(read.slice(0, 1)).toEqual([usage(7, "0.1")]);
  expect(read.slice(1 + maxBufferedDeltas)).toEqual([usage(399), { type: "deltas-dropped", count: 400 }, fact]);
});

test("a reader that caught up gets deltas again", async () => {
  const more = Promise.withResolvers<undefined>();
  const queue = iterateParts(async (onPart) => {
    deltas(maxBufferedDeltas + 1).forEach(onPart);
    await more.promise;
    deltas(2, "again").forEach(onPart);
  });
  const read: RunPart[] = [];
  for await (const part of queue) {
    read.push(part);
    if (part.type === "deltas-dropped") more.resolve(undefined);
  }
  expect(read.slice(maxBufferedDeltas)).toEqual([{ type: "deltas-dropped", count: 1 }, ...deltas(2, "again")]);
});

test("a run does not wait for a reader that has stopped reading, and its answer is whole", async () => {
  const { conversation, ...workshop } = createWorkshop();
  const text = Array.from({ length: 2 * maxBufferedDeltas }, (_, n) => `word ${n}`).join(" ");
  const { engine } = workshop.scripted([text]);
  await conversation.append("hello");
  const reading = conversation.stream(engine)[Symbol.asyncIterator]();
  expect((await reading.next()).value).toMatchObject({ type: "run-start" });
  await expect.poll(async () => typesOf(await eventsOf(conversation))).toContain("RunCompleted");
  const parts: RunPart[] = [];
  for (let next = await reading.next(); next.done !== true; next = await reading.next()) parts.push(next.value);
  expect(parts.filter(({ type }) => type === "text-delta").length).toBeLessThanOrEqual(2 * maxBufferedDeltas);
  expect(parts.filter(({ type }) => type === "deltas-dropped")).toHaveLength(1);
  const block = parts.find((part) => part.type === "block");
  expect(block?.block.text).toBe(text);
  expect(parts.at(-1)).toMatchObject({ type: "run-end", result: { text } });
});
