import { utf8Length } from "../../base/utf8.ts";
import { type ConversationId, conversationOfStream, conversationStream } from "../../domain/ids.ts";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import { actorOf } from "../../log/codec/actor-line.ts";
import { type ContentLine, contentLines } from "../../log/codec/line-places.ts";
import { tryToRead } from "../../log/codec/recorded.ts";
import type { Families } from "../../log/history/families.ts";
import { type EventStore, envelopeAt, type StoredEnvelope } from "../../log/ports/event-store.ts";
import { carriersIn } from "./carriers.ts";
import { LinePlaces } from "./line-places.ts";
import { refused } from "./refused.ts";
import { TextSearch } from "./text-search.ts";

/** Which contents to erase from conversations that go on. */
export type LineTarget = {
  /** All content of these events, and equal blocks elsewhere in the lineage. */
  readonly revisions?: readonly { readonly conversation: ConversationId; readonly revision: number }[];
  /** These blocks, in every version, and equal blocks. */
  readonly blocks?: readonly { readonly conversation: ConversationId; readonly block: string }[];
  /** Everything in which one of these texts occurs. */
  readonly texts?: readonly string[];
  /** Where the texts are searched: these conversations, with their ancestors, forks and children. Default: all conversations. */
  readonly in?: readonly ConversationId[];
  /** Whole conversations with the label `subject` of this value, and what an actor of this name wrote in others: blocks in every version. */
  readonly subject?: string;
  /** Also texts of less than 8 bytes, and those in more than 10,000 events. */
  readonly all?: boolean;
};

export type FoundLines = {
  /** Whole conversations: named, or found by their label. */
  readonly conversations: readonly ConversationId[];
  /** By conversation; without places for those that only share a naming key. */
  readonly lines: ReadonlyMap<
    ConversationId,
    {
      readonly places: readonly {
        readonly revision: number;
        readonly type: string;
        readonly lines: readonly number[];
      }[];
      readonly blockIds: readonly string[];
      /** Streams of long texts that no line refers to afterwards. */
      readonly blobs: readonly string[];
    }
  >;
  readonly proposed: readonly {
    readonly conversation: ConversationId;
    readonly revision: number;
    readonly block: string | null;
  }[];
};

/** The most lines that one order takes: they have to fit into an event. */
const maxLines = 15_000;
/** And the most blocks. */
const maxBlocks = 2_000;

/** Finds the lines to erase, beside the conversations that are `named` as a whole. It reads, and changes nothing. */
export async function findLines(
  store: EventStore,
  families: Families,
  { codecs, named, ...target }: LineTarget & { readonly codecs: Codecs; readonly named: readonly ConversationId[] },
): Promise<FoundLines> {
  const places = new LinePlaces();
  const whole = new Set(named);
  for (const { conversation, revision } of target.revisions ?? []) {
    const envelope = await envelopeAt(store, conversationStream(conversation), revision);
    if (envelope === null) throw refused(`${conversation} has no revision ${revision}`);
    for (const line of places.erasable(conversation, envelope)) places.add(conversation, envelope, line);
  }
  for (const { conversation, block } of target.blocks ?? []) {
    const first = await envelopeAt(store, conversationStream(conversation), 0);
    if (first !== null) places.erasable(conversation, first);
    await addBlocks(store, places, { lineage: families.lineageOf(conversation), isWanted: ({ id }) => id === block });
  }
  if (target.subject !== undefined)
    for (const [id, written] of await addSubject(store, places, { subject: target.subject, whole }))
      await addBlocks(store, places, { lineage: families.lineageOf(id), isWanted: (block) => written.has(block.id) });
  const search = target.texts === undefined ? null : new TextSearch(target.texts, target.all === true);
  if (search !== null) {
    const scope = target.in === undefined ? families.all : target.in.flatMap((id) => families.withChildren(id));
    for (const id of new Set(scope)) await addTexts(store, places, { id, search });
    search.refuseIfTooFrequent();
  }
  refuseJson([...places.inJson].filter((id) => !whole.has(id)));
  const proposed: FoundLines["proposed"][number][] = [];
  for (const lineage of lineagesOf(families, places)) {
    const names = places.namesIn(lineage);
    await addBlocks(store, places, { lineage, isWanted: ({ name }) => names.has(name) });
    proposed.push(...(await addCopies(store, places, lineage)));
    await carriersIn(store, lineage, { places, codecs });
    // Every conversation that shares the naming key.
    for (const id of lineage) places.touch(id);
  }
  if (places.count > maxLines)
    throw refused(`${places.count} lines would be erased, and one order takes ${maxLines}: erase them in several`);
  const lines = new Map<
    ConversationId,
    { places: ReturnType<LinePlaces["of"]>; blockIds: readonly string[]; blobs: readonly string[] }
  >();
  for (const lineage of lineagesOf(families, places)) {
    // Forks inherit the blocks, so the event that ends an erasure names them there as well.
    const blockIds = [...new Set(lineage.flatMap((id) => places.blockIdsOf(id)))];
    for (const id of lineage)
      lines.set(id, { places: places.of(id), blockIds, blobs: await places.blobsOf(store, id) });
  }
  const blocks = [...lines.values()].reduce((sum, { blockIds }) => sum + blockIds.length, 0);
  if (blocks > maxBlocks)
    throw refused(`${blocks} blocks would be erased, and one order takes ${maxBlocks}: erase them in several`);
  return { conversations: [...whole], lines, proposed };
}

/** Each lineage in which something is to be erased, once. */
function* lineagesOf(families: Families, places: LinePlaces): Generator<readonly ConversationId[]> {
  const done = new Set<ConversationId>();
  for (const id of places.conversations) {
    if (done.has(id)) continue;
    const lineage = families.lineageOf(id);
    for (const each of lineage) done.add(each);
    yield lineage;
  }
}

/** @throws {TurnlogError} `erasure-refused` if there are any, as they are written as `json`. */
function refuseJson(ids: readonly ConversationId[]): void {
  if (ids.length === 0) return;
  const [are, them] = ids.length === 1 ? ["is", "the whole conversation"] : ["are", "these whole conversations"];
  throw refused(
    `${ids.join(", ")} ${are} written as json, which has no lines that can be erased alone: erase ${them} first`,
  );
}

type Wanted = {
  readonly lineage: readonly ConversationId[];
  readonly isWanted: (block: { readonly id: string; readonly name: string }) => boolean;
};

async function addBlocks(store: EventStore, places: LinePlaces, { lineage, isWanted }: Wanted): Promise<void> {
  for (const id of lineage)
    for await (const envelope of store.readStream(conversationStream(id)))
      for (const line of envelope.encoding === "erased" ? [] : contentLines(envelope))
        if (line.block !== null && isWanted(line.block)) {
          if (line.isErased) places.noteErased(id, line);
          else places.add(id, envelope, line);
        }
}

type Searched = { readonly id: ConversationId; readonly search: TextSearch };

async function addTexts(store: EventStore, places: LinePlaces, { id, search }: Searched): Promise<void> {
  for await (const envelope of store.readStream(conversationStream(id))) {
    if (envelope.encoding === "erased") continue;
    if (envelope.encoding === "json") {
      if (await search.isInJson(store, envelope)) places.erasable(id, envelope);
      continue;
    }
    for (const line of contentLines(envelope))
      if (!line.isErased && (await isIn(store, search, { envelope, line }))) places.add(id, envelope, line);
  }
}

type Looked = { readonly envelope: StoredEnvelope; readonly line: ContentLine };

/** A line whose long text is missing because another erasure has just removed it contains nothing any more. */
async function isIn(store: EventStore, search: TextSearch, { envelope, line }: Looked): Promise<boolean> {
  try {
    return await search.isIn(store, envelope, line.content);
  } catch (error) {
    const now = await envelopeAt(store, envelope.stream, envelope.revision);
    if (now !== null && now.data !== envelope.data) return false;
    throw error;
  }
}

/** What repeats the whole of a long text outside of blocks, such as the value of an effect; other blocks are only proposed. */
async function addCopies(
  store: EventStore,
  places: LinePlaces,
  lineage: readonly ConversationId[],
): Promise<readonly FoundLines["proposed"][number][]> {
  const long = places.textsIn(lineage).filter((text) => utf8Length(text) >= copiedBytesMin);
  if (long.length === 0) return [];
  const proposed: FoundLines["proposed"][number][] = [];
  const [whole, stretches] = [TextSearch.ofJson(long), TextSearch.ofJson(long.flatMap(stretchesOf))];
  for (const id of lineage)
    for await (const envelope of store.readStream(conversationStream(id)))
      for (const line of contentLines(envelope)) {
        if (line.isErased || line.holds === "proof" || places.has(id, envelope.revision, line.line)) continue;
        if (line.holds === "rest" && whole.matches(line.content)) places.add(id, envelope, line);
        else if (line.holds === "block" && stretches.matches(line.content))
          proposed.push({ conversation: id, revision: envelope.revision, block: line.block?.id ?? null });
      }
  return proposed;
}

/** Texts from this length on are looked for elsewhere; shorter ones occur by chance. */
const copiedBytesMin = 16;

/** Parts of a text: a text that shares a longer stretch with it has one of them. */
function stretchesOf(json: string): readonly string[] {
  const stretches: string[] = [];
  for (let at = 0; at + stretchLength <= json.length && stretches.length < maxStretches; at += stretchLength / 2)
    stretches.push(json.slice(at, at + stretchLength));
  return json.length < stretchLength ? [json] : stretches;
}

const stretchLength = 40;
const maxStretches = 200;

type Subject = { readonly subject: string; readonly whole: Set<ConversationId> };

/** Returns the ids of the blocks that the subject wrote, by conversation. */
async function addSubject(
  store: EventStore,
  places: LinePlaces,
  { subject, whole }: Subject,
): Promise<ReadonlyMap<ConversationId, ReadonlySet<string>>> {
  const written = new Map<ConversationId, Set<string>>();
  for await (const envelope of store.readLog({ streamPrefix: "conversation-" })) {
    const id = conversationOfStream(envelope.stream);
    if (id === null || envelope.encoding === "erased") continue;
    if (envelope.type === "ConversationStarted" || envelope.type === "ConversationRelabelled") {
      const read = await tryToRead(store, envelope);
      const labels = read instanceof Error || !("labels" in read.event.data) ? {} : (read.event.data.labels ?? {});
      if (labels["subject"] === subject) whole.add(id);
    }
    const actor = actorOf(envelope);
    if (!("name" in actor) || actor.name !== subject) continue;
    for (const line of places.erasable(id, envelope)) {
      // A revert restores what others said as well.
      if (envelope.type === "TurnReverted" && line.block !== null) continue;
      places.add(id, envelope, line);
      if (line.block !== null) written.set(id, (written.get(id) ?? new Set()).add(line.block.id));
    }
  }
  return written;
}
