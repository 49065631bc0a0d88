import { expect, test } from "vitest";
import * as z from "zod";
import { linesOf } from "../../../src/base/lines.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { StoreCorruptedError } from "../../../src/log/ports/store-errors.ts";
import {
  type BundleHeader,
  bundleLines,
  bundleSource,
  readBundleHeader,
} from "../../../src/operations/transfer/bundle.ts";
import { copyEvents } from "../../../src/operations/transfer/copy.ts";
import { openStoreSource } from "../../../src/operations/transfer/copy-source.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { all, appendPrepared } from "../../../src/testing/contracts/prepared.ts";
import { contentOf, familyStore, misreading, soundStore } from "../../support/carry/sources.ts";

async function bundleOf(store: EventStore, isRedacted = false): Promise<string> {
  const lines = bundleLines(await openStoreSource(store), { storeId: store.storeId, isRedacted });
  return (await all(lines)).join("");
}

/** The text in pieces, as a file comes. */
async function* inPieces(text: string): AsyncIterable<string> {
  for (let start = 0; start < text.length; start += 1_000) yield text.slice(start, start + 1_000);
}

/** How a bundle is refused; null where all of it is taken. */
async function refusalOf(text: string): Promise<string | null> {
  try {
    const header = readBundleHeader(text.split("\n", 1)[0] ?? "");
    if (header === null) return "no bundle";
    await all(bundleSource(header, () => linesOf(inPieces(text))).events());
    return null;
  } catch (error) {
    if (error instanceof StoreCorruptedError) return error.message;
    throw error;
  }
}

const headerOf = (text: string): BundleHeader => {
  const header = readBundleHeader(text.split("\n", 1)[0] ?? "");
  if (header === null) throw new Error("it has a header");
  return header;
};

test.each([
  ["of runs, with blobs", soundStore],
  ["of forks, with their ancestors", familyStore],
])("a bundle %s gives every event as it was", async (_, create) => {
  await using store = await create();
  const text = await bundleOf(store);
  await using target = createMemoryStore();
  await copyEvents(
    bundleSource(headerOf(text), () => linesOf(inPieces(text))),
    target,
  );
  expect(await contentOf(target)).toEqual(await contentOf(store));
  expect(headerOf(text)).toMatchObject({ format: "turnlog-bundle", version: 2, storeId: store.storeId });
  expect(await bundleOf(store)).toBe(text);
});

test("a bundle that was cut anywhere is refused with the line where it ends", async () => {
  await using store = await familyStore();
  const text = await bundleOf(store);
  // The last line feed may be missing: nothing is.
  for (let length = text.indexOf("\n") + 1; length < text.length - 1; length += 1) {
    const cut = text.slice(0, length);
    const line = cut.split("\n").length;
    expect(await refusalOf(cut), `cut at ${length}`).toContain(`line ${line} of the bundle: `);
  }
});

test("a bundle of which any byte was changed is refused", async () => {
  await using store = createMemoryStore();
  await appendPrepared(store, { data: ['{"origin":{"type":"new"}}', '{"text":"é \\" 🙂"}'] });
  const text = await bundleOf(store);
  for (let at = 0; at < text.length - 1; at += 1) {
    for (const other of [String.fromCharCode(text.charCodeAt(at) ^ 1), " ", ""]) {
      if (other === text[at]) continue;
      expect(
        await refusalOf(`${text.slice(0, at)}${other}${text.slice(at + 1)}`),
        `byte ${at}: ${JSON.stringify(other)}`,
      ).not.toBeNull();
    }
  }
});

test("lines that are gone, doubled, swapped, or of another bundle are named", async () => {
  await using store = await familyStore();
  await using other = await familyStore();
  const lines = (await bundleOf(store)).split("\n");
  const others = (await bundleOf(other)).split("\n");
  // The last one ends the text, and the one before it the bundle.
  for (let at = 1; at < lines.length - 2; at += 1) {
    const [own = "", next = "", foreign = ""] = [lines[at], lines[at + 1], others[at]];
    // An event of another chain may be a whole one by itself: what follows it is not its own.
    const ways = [
      { way: "gone", changed: lines.toSpliced(at, 1), named: [at + 1] },
      { way: "doubled", changed: lines.toSpliced(at, 0, own), named: [at + 2] },
      { way: "swapped", changed: lines.toSpliced(at, 2, next, own), named: [at + 1] },
      { way: "foreign", changed: lines.toSpliced(at, 1, foreign), named: [at + 1, at + 2] },
    ];
    for (const { way, changed, named } of ways) {
      const [, line] = /line (\d+) of the bundle: /.exec((await refusalOf(changed.join("\n"))) ?? "") ?? [];
      expect(named, `${way}: ${at}`).toContain(Number(line));
    }
  }
});

test("a bundle of a damaged store has no end", async () => {
  await using sound = await soundStore();
  const damaged = misreading(sound, (envelope) =>
    envelope.stream === "conversation-cnv_note" ? { ...envelope, data: "{}" } : envelope,
  );
  const lines: string[] = [];
  const writing = (async () => {
    const source = await openStoreSource(damaged);
    for await (const line of bundleLines(source, { storeId: "", isRedacted: false })) lines.push(line);
  })();
  await expect(writing).rejects.toThrow("event 0 of conversation-cnv_note: its data is not what was written");
  expect(await refusalOf(lines.join(""))).toContain("its end is missing");
});

test("a redacted bundle holds nothing that was said, and its lengths, hashes, ids and digests", async () => {
  await using events = createMemoryStore();
  await using store = new TurnlogStore(events);
  const secrets = ["Ünter uns: 4711", "hunter2", "x".repeat(70_000)];
  await store.conversation("cnv_secret").append(secrets[0] ?? "");
  await store.conversation("cnv_secret").append(secrets.slice(1).join("\n"));
  await store.conversation("cnv_secret").relabel({ title: "hunter2", labels: { password: "hunter2" } });
  const text = await bundleOf(events, true);
  const whole = await bundleOf(events);
  for (const secret of ["Ünter", "uns: 4711", "hunter2", "xxxxx"]) {
    expect(whole).toContain(secret);
    expect(text).not.toContain(secret);
  }
  expect(headerOf(text)).toMatchObject({ isRedacted: true });
  expect(headerOf(text).heads).toEqual(headerOf(whole).heads);
  const [redacted, original] = [text, whole].map((each) =>
    each
      .split("\n")
      .slice(1, -2)
      .map((line) => z.looseObject({ data: z.string() }).parse(JSON.parse(line))),
  );
  const withoutData = (envelopes: readonly object[] | undefined) => envelopes?.map((each) => ({ ...each, data: "" }));
  expect(withoutData(redacted)).toEqual(withoutData(original));
  const [firstLine, ...others] = (original?.at(-1)?.data ?? "").split("\n");
  expect(redacted?.at(-1)?.data).toBe([firstLine, ...others.map((line) => `~${sha256Hex(line)}`)].join("\n"));
  expect(others).not.toEqual([]);
});

test.each([
  ["a chat document", '{"id":"d1","messages":[]}'],
  ["no JSON", "not json"],
  ["a number", "4"],
  ["nothing", ""],
])("%s is no bundle", (_, line) => {
  expect(readBundleHeader(line)).toBeNull();
});

test("the bundle of a newer turnlog is refused as such", () => {
  const header = { format: "turnlog-bundle", version: 3, storeId: "", isRedacted: false, heads: [] };
  expect(() => readBundleHeader(JSON.stringify(header))).toThrow("a newer turnlog may have written it");
});
