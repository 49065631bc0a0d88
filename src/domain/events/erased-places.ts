import * as z from "zod";

/** Lines of events by number, from 1. Events that lost the same lines are listed together: many requests lose only their proof. */
export const erasedPlacesSchema = z.array(
  z.strictObject({ revisions: z.array(z.int().nonnegative()), lines: z.array(z.int().positive()) }),
);
export type ErasedPlaces = z.infer<typeof erasedPlacesSchema>;

/** The lines of one event. */
export type ErasedPlace = { readonly revision: number; readonly lines: readonly number[] };

/** In the order of the revisions, as far as they have the same lines. */
export function groupPlaces(places: readonly ErasedPlace[]): ErasedPlaces {
  const byLines = Map.groupBy(places, ({ lines }) => lines.join());
  return [...byLines.values()].map((alike) => ({
    revisions: alike.map(({ revision }) => revision),
    lines: [...(alike[0]?.lines ?? [])],
  }));
}

/** In the order of the revisions. */
export const placesByRevision = (grouped: ErasedPlaces): readonly ErasedPlace[] =>
  grouped
    .flatMap(({ revisions, lines }) => revisions.map((revision) => ({ revision, lines })))
    .toSorted((left, right) => left.revision - right.revision);

/** How many lines they are. */
export const countLines = (grouped: ErasedPlaces): number =>
  grouped.reduce((sum, { revisions, lines }) => sum + revisions.length * lines.length, 0);
