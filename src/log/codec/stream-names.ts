import { WeakValues } from "../../base/weak-values.ts";
import { type BlockNames, keyedNames, plainNames, survivingNames } from "../../domain/block-names.ts";
import { conversationIdSchema, conversationStream } from "../../domain/ids.ts";
import type { Envelope, EventStore, PreparedAppend } from "../ports/event-store.ts";
import { type DataEncoding, decodeData } from "./data.ts";
import { linesErased } from "./erased.ts";
import { noteErasedBlocks, noteReplaced } from "./erased-blocks.ts";
import type { NewEvent } from "./prepare.ts";
import { beginsAs, forkParent } from "./stream-encoding.ts";

type KnownNames = {
  readonly byStream: Map<string, BlockNames | Promise<BlockNames | null>>;
  /** Of streams that have no events yet. Kept as long as a block has them, because the first append has to store their key. */
  readonly drawn: WeakValues<string, BlockNames>;
  /** Those that have to be read again, until they are. */
  readonly forgotten: Map<string, BlockNames>;
};

const knownByStore = new WeakMap<EventStore, KnownNames>();

/** Blocks with one object for their names are compared without their contents. */
const namesByKey = new WeakValues<string, BlockNames>();

const keyByNames = new WeakMap<BlockNames, string>();

/** How many streams to remember the names of. */
const maxRememberedStreams = 1_000;

function knownOf(store: EventStore): KnownNames {
  let known = knownByStore.get(store);
  if (known === undefined) {
    known = { byStream: new Map(), drawn: new WeakValues(), forgotten: new Map() };
    knownByStore.set(store, known);
  }
  return known;
}

/**
 * The names under which a conversation's stream records blocks (rule: Equal blocks). A fork has those of its parent. A conversation in lines
 * whose key is lost continues with fresh names. A promise only if they have to be read.
 *
 * @param first - The stream's first event, if the caller has just read it.
 */
export function namesOf(
  store: EventStore,
  stream: string,
  first: Envelope | null = null,
): BlockNames | Promise<BlockNames> {
  const known = settledOrReading(store, stream, first);
  // A stream without events has no blocks to name.
  return known instanceof Promise ? known.then((names) => names ?? plainNames) : known;
}

/** The same if they need not be read. */
export function knownNames(store: EventStore, stream: string): BlockNames | undefined {
  const known = knownOf(store).byStream.get(stream);
  return known instanceof Promise ? undefined : known;
}

function settledOrReading(
  store: EventStore,
  stream: string,
  first: Envelope | null,
): BlockNames | Promise<BlockNames | null> {
  const { byStream } = knownOf(store);
  const known = byStream.get(stream);
  if (known !== undefined) return known;
  if (first?.encoding === "json") return plainNames;
  const reading = readNames(store, stream, first).then(
    (names) => {
      if (byStream.get(stream) === reading) byStream.delete(stream);
      if (names !== null) settle(store, stream, names);
      return byStream.get(stream) ?? names;
    },
    (error: unknown) => {
      byStream.delete(stream);
      throw error;
    },
  );
  byStream.set(stream, reading);
  return reading;
}

/** Null for a stream without events. */
async function readNames(store: EventStore, stream: string, given: Envelope | null): Promise<BlockNames | null> {
  const first = given ?? (await firstOf(store, stream));
  if (first === null) return null;
  if (first.encoding === "json") return plainNames;
  const key = (await store.namingKey?.(stream)) ?? null;
  if (key !== null) return namesBy(key);
  const parent = parentOf(first);
  const inherited = parent === null ? null : await settledOrReading(store, parent, null);
  return inherited ?? survivingNames(randomNamingKey());
}

/** How a stored key begins that an erasure has renewed: names from before it are not made with this key. */
const renewedMark = "+";

/** The key that takes the place of another one. */
export const renewedKey = (newNamingKey: () => string = randomNamingKey): string => `${renewedMark}${newNamingKey()}`;

/** A key as a store holds it. */
export const namingKeyPattern: RegExp = /^\+?[0-9a-f]{64}$/;

function namesBy(key: string): BlockNames {
  const names = namesByKey.get(key, () =>
    key.startsWith(renewedMark) ? survivingNames(key.slice(renewedMark.length)) : keyedNames(key),
  );
  keyByNames.set(names, key);
  return names;
}

async function firstOf(store: EventStore, stream: string): Promise<Envelope | null> {
  for await (const envelope of store.readStream(stream, { limit: 1 })) return envelope;
  return null;
}

/** The stream of a fork's parent; null if the event begins no fork, or cannot be read. */
function parentOf(first: Envelope): string | null {
  try {
    const id = forkParent(decodeData(first).data);
    const parsed = conversationIdSchema.safeParse(id);
    return parsed.success ? conversationStream(parsed.data) : null;
  } catch {
    return null;
  }
}

/**
 * The names for the first append of a stream, with which its blocks have to be named beforehand. A key is drawn for a new conversation in
 * lines.
 */
export async function namesOfNew(
  store: EventStore,
  stream: string,
  beginning: { readonly wanted: DataEncoding; readonly events: readonly NewEvent[] } & Drawing,
): Promise<BlockNames> {
  const given = knownOf(store).byStream.get(stream);
  if (given !== undefined && !(given instanceof Promise)) return given;
  const parent = forkParent(beginning.events[0]?.event.data ?? {});
  if (parent !== null) return namesOf(store, `conversation-${parent}`);
  const { encoding } = await beginsAs(store, stream, beginning);
  return encoding === "lines" ? drawNames(store, stream, beginning) : plainNames;
}

/**
 * The key to store with the first append of a stream; undefined if it needs none. A fork stores its parent's: with its first event damaged,
 * no reader could find the parent.
 */
export async function keyOfNew(
  store: EventStore,
  stream: string,
  { encoding, events, ...drawing }: { readonly encoding: DataEncoding; readonly events: readonly NewEvent[] } & Drawing,
): Promise<string | undefined> {
  if (encoding !== "lines") return undefined;
  const parent = forkParent(events[0]?.event.data ?? {});
  if (parent !== null) return keyByNames.get(await namesOf(store, `conversation-${parent}`));
  const known = knownOf(store).byStream.get(stream);
  // A read that has not ended yet finds an empty stream, or another writer's events and then the append conflicts.
  const isGiven = known !== undefined && !(known instanceof Promise);
  return isGiven ? undefined : keyByNames.get(drawNames(store, stream, drawing));
}

type Drawing = { readonly newNamingKey?: (() => string) | undefined };

const drawNames = (store: EventStore, stream: string, { newNamingKey = randomNamingKey }: Drawing): BlockNames =>
  knownOf(store).drawn.get(stream, () => namesBy(newNamingKey()));

/** The first append of a stream succeeded, so its names are known. */
export function noteBegun(store: EventStore, { stream, namingKey, envelopes }: PreparedAppend): void {
  if (namingKey !== undefined) settle(store, stream, namesBy(namingKey));
  else if (envelopes[0] !== undefined) noteFirst(store, envelopes[0]);
}

/** The first event of a stream was read or written: if it is `json`, its names are known. */
export function noteFirst(store: EventStore, { stream, encoding }: Envelope): void {
  if (encoding !== "json" || !stream.startsWith("conversation-")) return;
  const { byStream } = knownOf(store);
  if (byStream.get(stream) === undefined) settle(store, stream, plainNames);
}

/**
 * Reads the key again, where a stream is read from its beginning or from a snapshot: another process may have renewed it. Returns whether
 * it has.
 */
export async function confirmNames(store: EventStore, stream: string): Promise<boolean> {
  const known = knownNames(store, stream);
  if (known === undefined || known === plainNames) return false;
  const key = (await store.namingKey?.(stream)) ?? null;
  const isRenewed = key !== null && keyByNames.get(known) !== key;
  if (isRenewed) forgetNames(store, stream);
  return isRenewed;
}

/** The key of a stream's names was renewed: they have to be read again. */
export function forgetNames(store: EventStore, stream: string): void {
  const { byStream, forgotten } = knownOf(store);
  const known = byStream.get(stream);
  if (known !== undefined && !(known instanceof Promise)) forgotten.set(stream, known);
  byStream.delete(stream);
}

/** The same at the `LinesErased`, which names the blocks that were emptied. */
export function forgetErased(store: EventStore, fence: Envelope): void {
  forgetNames(store, fence.stream);
  const before = knownOf(store).forgotten.get(fence.stream);
  if (before !== undefined) noteErasedBlocks(before, fence);
}

/** The same for all erasures of a stream. */
export async function forgetAllErased(store: EventStore, stream: string): Promise<void> {
  for await (const envelope of store.readStream(stream))
    if (envelope.type === linesErased) forgetErased(store, envelope);
}

/** Lets a store that holds a copy of another store's events use that store's names, so that digests compare. */
export function settle(store: EventStore, stream: string, names: BlockNames): void {
  const { byStream, forgotten } = knownOf(store);
  const before = forgotten.get(stream);
  if (before !== undefined) noteReplaced(before, names);
  forgotten.delete(stream);
  byStream.delete(stream);
  byStream.set(stream, names);
  // When full, it forgets the stream added first: its names are read again.
  const [oldest] = byStream.size > maxRememberedStreams ? byStream.keys() : [];
  if (oldest !== undefined) byStream.delete(oldest);
}

/** 256 random bits in hexadecimal. */
function randomNamingKey(): string {
  let key = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(32))) key += byte.toString(16).padStart(2, "0");
  return key;
}
