import { foldText } from "../../base/fold-text.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { blocksIn } from "../../domain/events/blocks-in.ts";
import type { ConversationEvent } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Projection } from "../projection.ts";

/** The searchable length of one text, in UTF-16 units. */
const maxSearchedText = 1_000_000;

/** How many events of one stream share a row, so that a new event does not rewrite a whole long conversation. */
const eventsPerRow = 64;

/** A text, folded for comparison: the revision of its event, and its index among the event's texts. */
export type SearchText = readonly [revision: number, index: number, folded: string];

/** Tuples, because a search would also find the names of members. */
export type SearchTextsView = SearchText[];

/** All texts in a conversation's own events: titles, and blocks as appended or as written by a layer. */
export const searchTexts: Projection<SearchTextsView> = {
  name: "search-texts",
  version: 1,
  lineage: "own",
  key: ({ stream, revision }) => `${stream}#${Math.floor(revision / eventsPerRow)}`,
  streamOf: streamOfRow,
  initial: () => [],
  apply(view, recorded) {
    const { event, revision } = recorded;
    // What precedes the start of a fork belongs to its parent, and is found there.
    const texts = event.type === "ConversationStarted" ? [] : view;
    const isLayers = ["TurnEdited", "TurnReverted", "TurnCompacted"].includes(event.type);
    for (const [index, text] of textsIn(event).entries()) {
      const folded = foldText(text.slice(0, maxSearchedText));
      // Layers restore what they had hidden, again and again.
      if (folded === "" || (isLayers && texts.some(([, , known]) => known === folded))) continue;
      texts.push([revision, index, folded]);
    }
    return texts;
  },
};

/** The stream of a row. */
export function streamOfRow(key: string): string {
  return key.slice(0, key.lastIndexOf("#"));
}

/** The keys of the rows of a stream with this many events. */
export const rowsOfStream = (stream: string, events: number): readonly string[] =>
  Array.from({ length: Math.ceil(events / eventsPerRow) }, (_, row) => `${stream}#${row}`);

/** The texts of an event: a title, or the texts of its blocks. */
function textsIn(event: ConversationEvent): readonly string[] {
  if (event.type === "ConversationStarted" || event.type === "ConversationRelabelled") return [event.data.title ?? ""];
  return blocksIn(event).map((json) => (json.erased === true ? "" : blockFromJson(json).text));
}

/** A text of an event, unfolded; null if there is none. */
export const textAt = ({ event }: RecordedEvent, index: number): string | null => textsIn(event)[index] ?? null;
