import { objectOf, parseJson } from "../../base/json.ts";
import type { EventStore, Head } from "../ports/event-store.ts";
import { StoreCorruptedError } from "../ports/store-errors.ts";
import { type BlobText, decodeData } from "./data.ts";
import type { NewEvent } from "./prepare.ts";
import { type BlobReference, blobReferenceIn, blobReferenceTo } from "./references.ts";

/** Appends to a stream and reports conflicts, as `EventLog.append` does. */
export type AppendEvents = (
  stream: string,
  head: Head | null,
  events: readonly NewEvent[],
) => Promise<{ readonly status: "appended" | "conflict" }>;

/** The stream of a blob's chunks, named by the stream whose events refer to it and by its content, in lines with the conversation's key. */
export function blobStream(stream: string, { $blob }: BlobReference): string {
  return `blob-${stream.slice(stream.indexOf("-") + 1)}-${$blob.id ?? $blob.sha256}`;
}

/** The blobs that a part of an event's data refers to, as JSON text: in texts, quotes are escaped. */
export function blobsNamed(json: string): readonly BlobReference[] {
  const named: BlobReference[] = [];
  for (const [, members = ""] of json.matchAll(/\{"\$blob":(\{[^{}]*\})\}/g)) {
    const reference = blobReferenceIn(objectOf(parseJson(members)));
    if (reference !== null) named.push(reference);
  }
  return named;
}

/** The streams of these blobs. */
export const blobStreamsNamed = (stream: string, json: string): readonly string[] =>
  blobsNamed(json).map((reference) => blobStream(stream, reference));

/**
 * Makes a blob durable. A complete blob is not written again. One that a crash or another writer left incomplete is
 * continued, because all writers split a text in the same way.
 */
export async function writeBlob(
  store: EventStore,
  append: AppendEvents,
  { stream, blob }: { readonly stream: string; readonly blob: BlobText },
): Promise<void> {
  const chunks = cutText(blob.text);
  const target = blobStream(stream, blob.reference);
  // Each round writes the rest, or finds that another writer got further: there are at most as many rounds as chunks.
  for (let maxPresent = -1; ; ) {
    const head = await store.head(target);
    const present = head === null ? 0 : head.revision + 1;
    if (present === chunks.length) return;
    if (present > chunks.length || present <= maxPresent)
      throw new StoreCorruptedError(`${target} is not the long text that its name stands for`);
    maxPresent = present;
    const events = chunks.slice(present).map((text, index) => chunkStored(present + index, chunks.length, text));
    const { status } = await append(target, head, events);
    if (status === "appended") return;
  }
}

/**
 * The text behind a reference that an event of `stream` holds.
 *
 * @throws {StoreCorruptedError} if it is missing or changed.
 */
export async function readBlob(store: EventStore, stream: string, reference: BlobReference): Promise<string> {
  const target = blobStream(stream, reference);
  const chunks: string[] = [];
  let count = 1;
  for await (const envelope of store.readStream(target)) {
    const { index, of, text } = decodeData(envelope).data;
    if (index !== chunks.length || typeof of !== "number" || typeof text !== "string") {
      throw new StoreCorruptedError(`revision ${envelope.revision} of ${target} is not the chunk that is due`);
    }
    count = of;
    chunks.push(text);
  }
  if (chunks.length !== count) throw new StoreCorruptedError(`${target} has ${chunks.length} of ${count} chunks`);
  const whole = chunks.join("");
  if (blobReferenceTo(whole).$blob.sha256 !== reference.$blob.sha256) {
    throw new StoreCorruptedError(`${target} does not hold the text of its name`);
  }
  return whole;
}

/** In UTF-16 units: a chunk stays within the event's bound even if every unit is escaped, and never becomes a blob itself. */
const maxChunkUnits = 20 * 1024;

function cutText(text: string): readonly string[] {
  const chunks: string[] = [];
  for (let start = 0; start < text.length || chunks.length === 0; ) {
    const end = start + maxChunkUnits;
    const isInsidePair = isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end));
    const chunk = text.slice(start, isInsidePair ? end - 1 : end);
    chunks.push(chunk);
    start += chunk.length;
  }
  return chunks;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

const chunkStored = (index: number, of: number, text: string): NewEvent => ({
  event: { type: "BlobChunkStored", version: 1, data: { index, of, text } },
  actor: { kind: "engine" },
});
