import { foldText } from "../base/fold-text.ts";
import { blockFromJson } from "../domain/block-json.ts";
import { blocksIn } from "../domain/events/blocks-in.ts";
import type { ConversationEvent } from "../domain/events/event.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { Projection } from "./projection.ts";

/** How much of one text can be searched, in UTF-16 units. */
const maxSearchedText = 1_000_000;

/** Events of one stream whose texts stand in one row, so that a long conversation is not written anew with every event. */
const eventsPerRow = 64;

/** A text that was said, folded as searching compares it: by its event, and its place among the event's texts. */
export type SearchText = readonly [revision: number, index: number, folded: string];

/** Lists, because the names of members would be found as well. */
export type SearchTextsView = SearchText[];

/** Every text that a conversation's own events hold: titles, and blocks as they were said or written by a layer. */
export const searchTexts: Projection<SearchTextsView> = {
  name: "search-texts",
  version: 1,
  lineage: "own",
  key: ({ stream, revision }) => `${stream}#${Math.floor(revision / eventsPerRow)}`,
  streamOf: streamOfRow,
  initial: () => [],
  apply(view, recorded) {
    const { event, revision } = recorded;
    // What comes before the start of a fork is its parent's, and found there.
    const texts = event.type === "ConversationStarted" ? [] : view;
    const isLayers = ["TurnEdited", "TurnReverted", "TurnCompacted"].includes(event.type);
    for (const [index, text] of textsIn(event).entries()) {
      const folded = foldText(text.slice(0, maxSearchedText));
      // Layers put back what they hid, over and over.
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

/** The rows of a stream with so many events. */
export const rowsOfStream = (stream: string, events: number): readonly string[] =>
  Array.from({ length: Math.ceil(events / eventsPerRow) }, (_, row) => `${stream}#${row}`);

/** What an event says: a title, or the texts of its blocks. */
function textsIn(event: ConversationEvent): readonly string[] {
  if (event.type === "ConversationStarted" || event.type === "ConversationRelabelled") return [event.data.title ?? ""];
  return blocksIn(event).map((json) => blockFromJson(json).text);
}

/** A text of an event, as it was said; null where it has none. */
export const textAt = ({ event }: RecordedEvent, index: number): string | null => textsIn(event)[index] ?? null;
