import { expect, test } from "vitest";
import { type AppendEvents, blobStream, readBlob, writeBlob } from "../../../src/log/codec/blobs.ts";
import { createEventLog } from "../../../src/log/codec/event-log.ts";
import { BlobReference, blobReferenceTo } from "../../../src/log/codec/references.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { StoreCorruptedError } from "../../../src/log/ports/store-errors.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { all, appendPrepared, withoutPosition } from "../../../src/testing/contracts/prepared.ts";
import { sources } from "../../support/log/noted.ts";

const stream = "conversation-cnv_1";
const chunkUnits = 20 * 1024;

test.each([
  ["ASCII", "x".repeat(1_000_000)],
  ["characters outside the first plane, at every offset", `x${"🙂".repeat(chunkUnits * 3)}`],
  ["characters that take most when escaped twice", "\u0001".repeat(200_000)],
  ["quotes and backslashes", '"\\'.repeat(100_000)],
  ["lone surrogates", `${"\ud83d".repeat(100_000)}\udc00\ud800`],
  ["exactly whole chunks", "y".repeat(chunkUnits * 4)],
  ["nothing", ""],
])("gives back a text of %s", async (_, text) => {
  const store = createMemoryStore();
  await write(store, text);
  expect(await readBlob(store, stream, blobReferenceTo(text))).toBe(text);
});

test("never cuts a pair of surrogates", async () => {
  const store = createMemoryStore();
  const text = `x${"🙂".repeat(chunkUnits)}`;
  await write(store, text);
  for (const { data } of await all(store.readStream(blobStream(stream, blobReferenceTo(text))))) {
    expect(data).not.toContain("\\ud");
  }
});

test("names the stream after the conversation and the content", () => {
  const reference = new BlobReference({ sha256: "0".repeat(64), bytes: 1 });
  expect(blobStream("conversation-cnv_x-y", reference)).toBe(`blob-cnv_x-y-${"0".repeat(64)}`);
});

test("does not write a blob again that is there", async () => {
  const store = createMemoryStore();
  await write(store, "x".repeat(100_000));
  const before = await all(store.readLog());
  await write(store, "x".repeat(100_000));
  expect(await all(store.readLog())).toEqual(before);
});

test("goes on where a crash left off, after every chunk", async () => {
  const text = `${"a".repeat(70_000)}${"b".repeat(30_000)}`;
  const whole = createMemoryStore();
  await write(whole, text);
  const chunks = await all(whole.readLog());
  for (let present = 1; present < chunks.length; present += 1) {
    const store = createMemoryStore();
    const left = chunks.slice(0, present).map(withoutPosition);
    await store.append({ stream: left[0]?.stream ?? "", expectedHead: null, envelopes: left });
    await expect(readBlob(store, stream, blobReferenceTo(text))).rejects.toThrow(StoreCorruptedError);
    await write(store, text);
    expect(await readBlob(store, stream, blobReferenceTo(text))).toBe(text);
  }
});

test("lets all writers of the same blob succeed, and stores it once", async () => {
  const store = createMemoryStore();
  const text = "x".repeat(5_000_000);
  await Promise.all(Array.from({ length: 10 }, () => write(store, text)));
  expect(await readBlob(store, stream, blobReferenceTo(text))).toBe(text);
  expect(await all(store.readLog())).toHaveLength(Math.ceil(5_000_000 / chunkUnits));
});

test("reports a blob that is not there, or not what its name says", async () => {
  const store = createMemoryStore();
  const reference = blobReferenceTo("z".repeat(70_000));
  await expect(readBlob(store, stream, reference)).rejects.toThrow(StoreCorruptedError);
  const target = blobStream(stream, reference);
  await appendPrepared(store, { stream: target, data: ['{"index":0,"of":1,"text":"another"}'] });
  await expect(readBlob(store, stream, reference)).rejects.toThrow("does not hold the text of its name");
  const longer = blobReferenceTo("q".repeat(30_000));
  await appendPrepared(store, { stream: blobStream(stream, longer), data: ["{}", "{}", "{}"] });
  await expect(readBlob(store, stream, longer)).rejects.toThrow("is not the chunk that is due");
  await expect(write(store, "q".repeat(30_000))).rejects.toThrow(StoreCorruptedError);
});

test("keeps a text of 20 MB", async () => {
  const store = createMemoryStore();
  const text = "iVBORw0KGgo+/".repeat(1_600_000);
  await write(store, text);
  expect((await readBlob(store, stream, blobReferenceTo(text))) === text).toBe(true);
});

async function write(store: EventStore, text: string): Promise<void> {
  const log = createEventLog(store, sources());
  const append: AppendEvents = (target, head, events) => log.append(target, head, events);
  await writeBlob(store, append, { stream, blob: { reference: blobReferenceTo(text), text } });
}
