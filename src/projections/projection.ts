import type { EventPlace, RecordedEvent } from "../domain/events/recorded.ts";

/**
 * A pure fold from events to a view, one view a key. Change what it means: raise its version.
 *
 * `apply` may change the view it is given and return it: a view belongs to the fold that made it with `initial`, and
 * a projection that keeps one takes what it needs of it.
 */
export type Projection<View> = {
  readonly name: string;
  readonly version: number;
  /** Whether a fork's view begins with its parent's events, or the fork counts for itself only. */
  readonly lineage: "inherit" | "own";
  /** By the event's place alone, so that the key of an event that cannot be read is known; null where it does not matter. */
  readonly key: (place: EventPlace) => string | null;
  /** Whose events the view of a key is made of, where keys are not streams themselves and each is made of one stream's events. */
  readonly streamOf?: (key: string) => string;
  readonly initial: (key: string) => View;
  readonly apply: (view: View, recorded: RecordedEvent) => View;
  /** Where the row of a view stands in ordered lists, `position` being that of its newest event: pages are read without its view. */
  readonly places?: (view: View, position: string) => readonly RowPlace[];
};

/** A row's place in a list of rows: rows are ordered by `at`, then by key, both by their UTF-8 bytes. */
export type RowPlace = { readonly list: string; readonly at: string };

/** One view a conversation: keyed by its stream. */
export const byStream = ({ stream }: EventPlace): string => stream;
