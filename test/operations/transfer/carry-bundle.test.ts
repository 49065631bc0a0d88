import { expect, test } from "vitest";
import { exportBundle, importBundle } from "../../../src/entries/copy.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { all } from "../../../src/testing/contracts/prepared.ts";
import { contentOf, family, familyStore, soundStore } from "../../support/carry/sources.ts";

/** A text in pieces that end anywhere, as a stream of a file gives it. */
const inPieces = (text: string) =>
  async function* (): AsyncIterable<string> {
    for (let at = 0; at < text.length; at += 777) yield text.slice(at, at + 777);
  };

const exported = async (events: EventStore, options = {}): Promise<string> =>
  (await all(exportBundle({ events }, options))).join("");

test("what is exported is imported elsewhere with equal events, whatever pieces the text comes in; a second time adds nothing", async () => {
  await using source = await soundStore();
  await using target = createMemoryStore();
  const read = inPieces(await exported(source));
  const added = async () => (await importBundle(read, { events: target })).reduce((sum, { copied }) => sum + copied, 0);
  expect(await added()).toBeGreaterThan(10);
  expect(await contentOf(target)).toEqual(await contentOf(source));
  expect(await added()).toBe(0);
});

test("an export of one conversation holds those that it began from, and no other", async () => {
  await using source = await familyStore();
  await using target = createMemoryStore();
  const [, second] = family;
  const copied = await importBundle(inPieces(await exported(source, { conversations: [second] })), { events: target });
  expect(copied.map(({ conversation }) => conversation)).toEqual(family.slice(0, 2));
});

test("a redacted bundle holds no text that was said, and no store takes it", async () => {
  await using source = await soundStore();
  await using target = createMemoryStore();
  const [plain, redacted] = [await exported(source), await exported(source, { redact: true })];
  const said = /the minutes of a long meeting/;
  expect(plain).toMatch(said);
  expect(redacted).not.toMatch(said);
  await expect(importBundle(inPieces(redacted), { events: target })).rejects.toMatchObject({ code: "bundle-unusable" });
  await expect(importBundle(inPieces("{}\n"), { events: target })).rejects.toMatchObject({ code: "bundle-unusable" });
  expect((await contentOf(target)).size).toBe(0);
});

test("nothing is written of a bundle that was cut", async () => {
  await using source = await soundStore();
  await using target = createMemoryStore();
  const text = await exported(source);
  const cut = inPieces(text.slice(0, text.length / 2));
  await expect(importBundle(cut, { events: target })).rejects.toMatchObject({ code: "store-corrupted" });
  expect((await contentOf(target)).size).toBe(0);
});
