import type { EventPlace, RecordedEvent } from "../domain/events/recorded.ts";

/**
 * A pure fold from events to a view, one view per key. If you change its meaning, raise its version.
 *
 * `apply` may change the given view and return it: a view belongs to the fold that created it with `initial`. A projection that embeds
 * another one's view must copy what it needs.
 */
export type Projection<View> = {
  readonly name: string;
  readonly version: number;
  /** Whether a fork's view begins with its parent's events, or contains only its own. */
  readonly lineage: "inherit" | "own";
  /** Depends only on the event's place, so that the key of an unreadable event is known; null if the event is irrelevant. */
  readonly key: (place: EventPlace) => string | null;
  /** The stream of a key, if keys are not streams themselves and each view is made of one stream's events. */
  readonly streamOf?: (key: string) => string;
  readonly initial: (key: string) => View;
  readonly apply: (view: View, recorded: RecordedEvent) => View;
  /** The places of a view's row in ordered lists, so that pages are read without views. `position` is that of the row's newest event. */
  readonly places?: (view: View, position: string) => readonly RowPlace[];
};

/** A row's place in a list of rows: rows are ordered by `at`, then by key, both by their UTF-8 bytes. */
export type RowPlace = { readonly list: string; readonly at: string };

/** One view per conversation: the key is its stream. */
export const byStream = ({ stream }: EventPlace): string => stream;
