import { isJsonList, isJsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import { NumberLiteral } from "../../base/number-literal.ts";
import { utf8Length } from "../../base/utf8.ts";
import { placesByRevision } from "../../domain/events/erased-places.ts";
import { conversationStream } from "../../domain/ids.ts";
import { decodeData } from "../../log/codec/data.ts";
import { contentLines } from "../../log/codec/line-places.ts";
import { type EventStore, envelopeAt, type StoredEnvelope } from "../../log/ports/event-store.ts";
import type { ErasureOrdered } from "../../log/system-streams/erasures.ts";
import { Fragments, formsOf } from "./fragments.ts";

/** What a search of the store's files for the erased texts has found. */
export type FileSearch = {
  readonly files: number;
  readonly bytes: number;
  readonly texts: number;
  /** Texts shorter than a fragment: they are not searched for. */
  readonly tooShort: number;
  /** Pieces of 16 bytes that are still in a file, and in no content that stays. */
  readonly found: number;
  /** Pieces that content that stays has as well. */
  readonly shared: number;
};

/** The shortest text that is searched for, in bytes. */
const bytesMin = 16;

/** The texts that an order will erase, read before it does. */
export async function textsOf(store: EventStore, { conversations }: ErasureOrdered): Promise<ReadonlySet<string>> {
  const texts = new Set<string>();
  for (const { id, places, blobs = [] } of conversations) {
    const stream = conversationStream(id);
    if (places === undefined) {
      for await (const envelope of store.readStream(stream)) addAll(envelope, texts);
      for await (const each of store.heads(`blob-${id}-`)) await addBlob(store, each.stream, texts);
      continue;
    }
    for (const { revision, lines } of placesByRevision(places)) {
      const envelope = await envelopeAt(store, stream, revision);
      if (envelope === null) continue;
      const wanted = new Set(lines);
      for (const { line, holds, content } of contentLines(envelope))
        if (wanted.has(line) && holds !== "proof") addTexts(content.split("\t"), texts);
    }
    for (const blob of blobs) await addBlob(store, blob, texts);
  }
  return texts;
}

function addAll(envelope: StoredEnvelope, texts: Set<string>): void {
  const { type, encoding, data } = envelope;
  if (encoding === "json" || type === "RunStarted" || type === "RunResumed") {
    // The process that owned the run is named in other places of the store as well, and belongs to its operator.
    for (const text of textsIn(withoutOwner(dataOf(envelope) ?? data))) texts.add(text);
    return;
  }
  for (const { holds, content } of contentLines(envelope)) if (holds !== "proof") addTexts(content.split("\t"), texts);
}

function dataOf(envelope: StoredEnvelope): JsonValue | null {
  try {
    return decodeData(envelope).data;
  } catch {
    // Damaged data is one text.
    return null;
  }
}

const withoutOwner = (data: JsonValue): JsonValue => {
  if (!isJsonObject(data)) return data;
  const { owner: _, ...others } = data;
  return others;
};

async function addBlob(store: EventStore, stream: string, texts: Set<string>): Promise<void> {
  for await (const envelope of store.readStream(stream)) addAll(envelope, texts);
}

function addTexts(values: readonly string[], texts: Set<string>): void {
  for (const value of values) for (const text of textsIn(readValue(value))) texts.add(text);
}

function readValue(json: string): JsonValue {
  for (const text of [json, `{${json}}`])
    try {
      return parseJson(text);
    } catch {
      // Several members of an object have no braces around them, and damaged data is no JSON.
    }
  return json;
}

function* textsIn(value: JsonValue): Generator<string> {
  if (typeof value === "string") yield value;
  else if (isJsonList(value)) for (const item of value) yield* textsIn(item);
  else if (isJsonObject(value) && !(value instanceof NumberLiteral))
    for (const [name, member] of Object.entries(value)) {
      yield name;
      if (member !== undefined) yield* textsIn(member);
    }
}

/** Searches a store's files for texts; null if the store has no files. */
export async function searchFiles(
  store: EventStore,
  texts: ReadonlySet<string>,
  onProgress: (bytes: number) => void = () => undefined,
): Promise<FileSearch | null> {
  if (store.files === undefined) return null;
  const long = [...texts].filter((text) => utf8Length(text) >= bytesMin);
  const fragments = new Fragments(long);
  const found = new Set<Buffer>();
  let [files, bytes] = [0, 0];
  for await (const pieces of store.files()) {
    files += 1;
    const search = fragments.search();
    for await (const piece of pieces) {
      search.take(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
      bytes += piece.length;
      onProgress(bytes);
    }
    for (const fragment of search.found) found.add(fragment);
  }
  const shared = found.size === 0 ? 0 : await countShared(store, fragments, found);
  const counts = { texts: long.length, tooShort: texts.size - long.length };
  return { files, bytes, ...counts, found: found.size - shared, shared };
}

/** How many of the pieces that were found are in content that stays, which the files have to contain. */
async function countShared(store: EventStore, fragments: Fragments, found: ReadonlySet<Buffer>): Promise<number> {
  const stays = new Set<Buffer>();
  const isExplained = (): boolean => [...found].every((fragment) => stays.has(fragment));
  const note = (...texts: readonly string[]): void => {
    const search = fragments.search();
    for (const text of texts) search.take(Buffer.from(`${text}\n`));
    for (const fragment of search.found) stays.add(fragment);
  };
  for await (const { actor, data } of store.readLog()) note(JSON.stringify(actor), data);
  // The search index contains texts in another form, which costs more to compare.
  if (!isExplained())
    for await (const envelope of store.readLog()) note(...[...textsIn(dataOf(envelope) ?? "")].flatMap(formsOf));
  return [...found].filter((fragment) => stays.has(fragment)).length;
}
