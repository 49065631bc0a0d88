import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ChatDocument, readChatFile } from "../../../src/testing/rehearsal/chat-format.ts";
import { generateDocuments } from "../../../src/testing/rehearsal/generate.ts";
import { rehearsalParts } from "../../../src/testing/rehearsal/reference-parts.ts";
import { type RehearsalFigures, type RehearsalOptions, rehearse } from "../../../src/testing/rehearsal/rehearse.ts";
import { isLong } from "../../support/cases.ts";
import { everyForm } from "../../support/rehearsal/every-form.ts";
import { mixes } from "../../support/rehearsal/mixes.ts";
import { bodyOf, type Item, play, playGenerated, quiet, replaying } from "../../support/rehearsal/playing.ts";

const file = join(import.meta.dirname, "../../../../shared/recorded/tau-airline.jsonl");
const isAbsent = !existsSync(file);
const timeout = isLong ? 3_600_000 : 300_000;

/** The slow suite plays all of them. */
const played = mixes.filter(({ seed }) => seed === "4" || seed === "6");

test.each(played)("reads exactly what was meant under the edits of %o", async (options) => {
  const { figures, incoherent } = await playGenerated(options);
  expect(incoherent).toEqual([]);
  expect(figures.coherent).toBe(figures.requests);
  expect(figures.requests).toBeGreaterThan(40);
  expect(figures.full + figures.rebased).toBeGreaterThan(figures.conversations);
});

test("meets what shaping is for: calls without results, broken answers, ids that come again", async () => {
  const { bodies } = await playGenerated({ editRate: 1, edits: "persistent", parallel: true, reasoning: true });
  const count = (is: (item: Item) => boolean): number => bodies.filter((body) => bodyOf(body).input.some(is)).length;
  expect(count(({ type, output }) => type === "function_call_output" && output === "aborted")).toBeGreaterThan(10);
  expect(count(({ type, call_id: id }) => type === "function_call" && id?.endsWith("_2") === true)).toBeGreaterThan(0);
  expect(count(({ type, encrypted_content: blob }) => type === "reasoning" && blob !== undefined)).toBeGreaterThan(10);
});

test("chains every request after the first of a conversation where nothing is edited", async () => {
  const { figures } = await playGenerated({ reasoning: true, parallel: true, count: 3 });
  const { conversations, requests, chained, rebased, full, bytesSent, bytesLastOnly } = figures;
  expect([full, rebased, chained]).toEqual([conversations, 0, requests - conversations]);
  expect(bytesSent).toBe(bytesLastOnly);
});

test("chains from every warm-up where nothing is edited, and sends it nothing but what was said", async () => {
  const options = { transport: "websocket", warmUpRate: 1, reasoning: true, parallel: true, count: 3 } as const;
  const { figures, incoherent } = await playGenerated(options);
  expect(incoherent).toEqual([]);
  expect(figures.warmUps).toBeGreaterThan(figures.conversations);
  // Every connection is new: what is not warmed up has calls that are still to be answered, and is sent whole.
  expect([figures.chained, figures.rebased]).toEqual([figures.warmUps, 0]);
  const edited = await playGenerated({ ...options, warmUpRate: 0.5, editRate: 0.5, switchModes: true });
  expect(edited.incoherent).toEqual([]);
});

test("sends what is planned full where chaining is off", async () => {
  const { figures } = await playGenerated({ editRate: 0.3, mode: "stateless", count: 2 });
  expect(figures.full).toBe(figures.requests);
  expect(figures.bytesSent).toBe(figures.bytesFull);
  // What no server keeps cannot be continued from, however it is planned.
  expect(figures.bytesLastOnly).toBe(figures.bytesFull);
});

test("gives the same figures for the same seed, and others for another", async () => {
  const options = { editRate: 0.4, reasoning: true, parallel: true, count: 2 };
  const [first, again, other] = [
    await playGenerated(options),
    await playGenerated(options),
    await playGenerated({ ...options, seed: "2" }),
  ];
  expect(withoutTime(again.figures)).toEqual(withoutTime(first.figures));
  expect(again.bodies).toEqual(first.bodies);
  expect(withoutTime(other.figures)).not.toEqual(withoutTime(first.figures));
});

test("generates conversations of the shape of recorded ones, the same ones for the same seed", () => {
  const documents = [...generateDocuments("a", 120)];
  const lengths = documents.map(({ messages }) => messages.length);
  expect(documents).toEqual([...generateDocuments("a", 120)]);
  expect(documents[0]).not.toEqual([...generateDocuments("b", 1)][0]);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(64);
  expect(Math.abs(lengths.reduce((sum, length) => sum + length, 0) / 120 - 27)).toBeLessThan(4);
});

const forms = isLong ? 20 : 4;

test.each(["auto", "never"] as const)("plays messages of every form (chain %s)", async (chain) => {
  const options = { chain, seed: "9", reasoning: true } as const;
  const still = await play([everyForm], undefined, options);
  expect(still.incoherent).toEqual([]);
  expect(still.figures).toMatchObject({ requests: 5, coherent: 5 });
  const documents = Array.from({ length: forms }, (_, n) => ({ ...everyForm, id: `every form ${n}` }));
  const edited = await play(documents, undefined, { ...options, editRate: 0.7 });
  expect(edited.incoherent).toEqual([]);
  expect(edited.figures).toMatchObject({ requests: 5 * forms, coherent: 5 * forms });
});

if (isAbsent) {
  test.skip("rehearses recorded conversations (skipped: ../shared/recorded/tau-airline.jsonl is not there)", () =>
    undefined);
} else {
  test("reads exactly what was meant in recorded conversations", { timeout }, async () => {
    const limit = isLong ? 120 : 2;
    const all = [...mixes, ...mixes.map((mix) => ({ ...mix, seed: "7" }))];
    for (const options of isLong ? all : mixes.slice(0, 4)) {
      expect(await rehearseRecorded(limit, options)).toMatchObject({ incoherent: 0 });
    }
    const still = await rehearseRecorded(limit, { editRate: 0 });
    expect([still.incoherent, still.chained]).toEqual([0, still.requests - still.conversations]);
  });

  // The bounds are for all 120: a few conversations scatter more.
  test("sends less than a client that remembers one response only", { timeout }, async () => {
    const limit = isLong ? 120 : 5;
    const persistent = await rehearseRecorded(limit, { editRate: 0.2, edits: "persistent" });
    const once = await rehearseRecorded(limit, { editRate: 0.2, edits: "once" });
    console.log(
      `recorded: ${share(persistent).toFixed(3)} (persistent), ${share(once).toFixed(3)} (once) of last-only`,
    );
    expect([persistent.incoherent, once.incoherent]).toEqual([0, 0]);
    expect(share(persistent)).toBeLessThanOrEqual(0.85);
    expect(share(once)).toBeLessThanOrEqual(0.65);
  });
}

const rehearseRecorded = (limit: number, options: Partial<RehearsalOptions>): Promise<RehearsalFigures> =>
  rehearse(recorded(limit), replaying(rehearsalParts(null)), { ...quiet, ...options });

const share = ({ bytesSent, bytesLastOnly }: RehearsalFigures): number => bytesSent / bytesLastOnly;

async function* recorded(limit: number): AsyncIterable<ChatDocument> {
  let read = 0;
  for await (const line of await readChatFile(file)) {
    if (line.status === "malformed") throw new Error(`line ${line.line}: ${line.message}`);
    yield line.document;
    read += 1;
    if (read === limit) return;
  }
}

const withoutTime = ({ seconds: _, ...figures }: RehearsalFigures) => figures;
