import { findFolded, foldText, inOneSpace, type TextRange } from "../../base/fold-text.ts";
import { anything, checkText, checkWhole, optionsOf } from "../../base/options.ts";
import { excerpt } from "../../base/printable.ts";
import type { Actor } from "../../domain/actor.ts";
import type { BlockKind } from "../../domain/block.ts";
import { blocksIn } from "../../domain/events/blocks-in.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { type ConversationId, conversationOfStream } from "../../domain/ids.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { lookAt } from "../../log/history/read-events.ts";
import { envelopeAt } from "../../log/ports/event-store.ts";
import type { RowProjector } from "../../log/read-models/row-projector.ts";
import { type ConversationListView, conversationList } from "../../projections/views/conversation-list.ts";
import {
  type SearchText,
  type SearchTextsView,
  searchTexts,
  streamOfRow,
  textAt,
} from "../../projections/views/search-texts.ts";
import { hasLabels, labelValues } from "./list.ts";
import { withRows } from "./rows.ts";

/** How many places to search for, and where to report progress. */
export type SearchOptions = {
  /** Maximum number of places, from 1; by default 20. */
  readonly limit?: number;
  /** Only in conversations that have all of these: `{ user: "ann" }`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Called with the number of events read so far, while the search reads events that it has not seen. */
  readonly onProgress?: (events: number) => void;
};

/** A place that contains the text. */
type SearchHit = {
  readonly conversation: ConversationId;
  /** The conversation's title; null if it has none. */
  readonly title: string | null;
  /** The revision of the event that holds the text. */
  readonly revision: number;
  readonly at: string;
  readonly actor: Actor;
  /** The block that contains the text; null if it is in the conversation's title. */
  readonly block: { readonly id: string; readonly kind: BlockKind } | null;
  /** The text around the first match, on one line. */
  readonly snippet: string;
  /** The place of the first matching word in the snippet, in UTF-16 units. */
  readonly match: TextRange;
};

/** The result of a search, newest conversations first. */
export type SearchResult = {
  readonly hits: readonly SearchHit[];
  /** Whether more places match than were asked for. */
  readonly hasMore: boolean;
};

const searchOptions = optionsOf<SearchOptions>({ limit: checkWhole, labels: labelValues, onProgress: anything });

/** How many words to look up in the rows; texts that have those are then checked for all words. */
const maxRowWords = 8;

/** @throws {TypeError | RangeError} if the text has no words, or an option is unknown or invalid. */
export async function searchConversations(log: EventLog, text: string, options: SearchOptions): Promise<SearchResult> {
  searchOptions.check("search", options);
  const { limit = 20, labels = {}, onProgress } = options;
  checkText("search: text", text, wanted);
  const words = wordsOf(text);
  if (words.length === 0) throw new TypeError(`search: text has no words: give ${wanted}`);
  const told = onProgress === undefined ? {} : { onProgress };
  return withRows(
    log.store,
    searchTexts,
    (texts) =>
      withRows(log.store, conversationList, (list) => findHits({ log, texts, list }, words, { limit, labels })),
    told,
  );
}

type Rows = {
  readonly log: EventLog;
  readonly texts: RowProjector<SearchTextsView>;
  readonly list: RowProjector<ConversationListView>;
};

type Wanted = Required<Pick<SearchOptions, "limit" | "labels">>;

async function findHits(rows: Rows, words: readonly string[], { limit, labels }: Wanted): Promise<SearchResult> {
  const longest = words.toSorted((left, right) => right.length - left.length).slice(0, maxRowWords);
  const describe = createDescriber(rows, words);
  const hits: SearchHit[] = [];
  const isAsked = byLabels(rows.list, labels);
  for await (const { key, view } of rows.texts.readContaining(longest)) {
    if (!(await isAsked(streamOfRow(key)))) continue;
    for (const found of view.toReversed()) {
      if (!words.every((word) => found[2].includes(word))) continue;
      const hit = await describe(streamOfRow(key), found);
      if (hit === null) continue;
      if (hits.length === limit) return { hits, hasMore: true };
      hits.push(hit);
    }
  }
  return { hits, hasMore: false };
}

const wanted = 'words, or a phrase in double quotes: weather "in Paris"';

/** Folded: each word by itself, and a text between double quotes as one. */
const wordsOf = (text: string): readonly string[] =>
  Array.from(text.matchAll(/"([^"]*)"|[^\s"]+/gu), ([word, phrase]) => foldText((phrase ?? word).trim())).filter(
    (word) => word !== "",
  );

/** Whether a conversation has all of these labels; looks each one up once. */
function byLabels(
  list: RowProjector<ConversationListView>,
  labels: Wanted["labels"],
): (stream: string) => Promise<boolean> | boolean {
  if (Object.keys(labels).length === 0) return () => true;
  const known = new Map<string, boolean>();
  return async (stream) => {
    const row = known.has(stream) ? null : await list.read(stream);
    const isAsked = known.get(stream) ?? (row !== null && hasLabels(row.view.summary, labels));
    known.set(stream, isAsked);
    return isAsked;
  };
}

type Describe = (stream: string, found: SearchText) => Promise<SearchHit | null>;

/** Describes a place from its event, because the rows may be anyone's: null if it was returned before, or is an old title. */
function createDescriber({ log, list }: Rows, words: readonly string[]): Describe {
  const told = new Set<string>();
  return async (stream, [revision, index]) => {
    const conversation = conversationOfStream(stream);
    const recorded = await readEvent(log, stream, revision);
    const text = recorded === null ? null : textAt(recorded, index);
    if (conversation === null || recorded === null || text === null) return null;
    const folded = foldText(text);
    if (!words.every((word) => folded.includes(word))) return null;
    const block = blocksIn(recorded.event)[index] ?? null;
    const name = JSON.stringify([stream, block?.id ?? null, text]);
    const title = (await list.read(stream))?.view.summary.title ?? null;
    if (told.has(name) || (block === null && title !== excerpt(text, 80))) return null;
    told.add(name);
    const { at, actor } = recorded;
    return {
      ...{ conversation, title, revision, at, actor },
      block: block === null ? null : { id: block.id, kind: block.kind },
      ...snippetOf(text, words),
    };
  };
}

/** Null if it is damaged by now: a search shows the rest. */
async function readEvent(log: EventLog, stream: string, revision: number): Promise<RecordedEvent | null> {
  const envelope = await envelopeAt(log.store, stream, revision);
  const reading = envelope === null ? null : await lookAt(log, envelope);
  return reading instanceof Error ? null : reading;
}

/** How many characters of a text to show, and at most how many of them before the match. */
const snippetLength = 160;
const snippetBefore = 40;

function snippetOf(text: string, words: readonly string[]): Pick<SearchHit, "snippet" | "match"> {
  const line = inOneSpace(text);
  const places = words.map((word) => findFolded(line, word)).filter((place) => place !== null);
  const [first = { start: 0, end: 0 }] = places.toSorted((left, right) => left.start - right.start);
  const from = first.start <= snippetBefore ? 0 : atCharacter(line, first.start - snippetBefore);
  const to = atCharacter(line, Math.max(first.end, from + snippetLength));
  const [before, after] = [from === 0 ? "" : "…", to < line.length ? "…" : ""];
  const shift = before.length - from;
  return {
    snippet: `${before}${line.slice(from, to)}${after}`,
    match: { start: first.start + shift, end: first.end + shift },
  };
}

/** Does not split a surrogate pair. */
const atCharacter = (text: string, index: number): number =>
  /[\uDC00-\uDFFF]/.test(text.charAt(index)) ? index - 1 : Math.min(index, text.length);
