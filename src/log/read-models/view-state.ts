import type { Projection } from "../../projections/projection.ts";
import { placeOf } from "../codec/place.ts";
import type { Reading } from "../codec/recorded.ts";
import type { StoredEnvelope } from "../ports/event-store.ts";
import type { PlacedRow, Quarantine, ViewRow } from "../ports/view-store.ts";

/** The view of one key during a fold, and the newest event of the key. */
export type ViewState<View> = {
  readonly key: string;
  view: View;
  position: string;
  revision: number;
  eventId: string;
  quarantine: Quarantine | null;
};

/** How many events of one key the quarantine lists; further ones are only counted. */
export const maxQuarantined = 100;

/** The view of a key without events. */
export const initialState = <View>({ initial }: Projection<View>, key: string): ViewState<View> => ({
  ...{ key, view: initial(key), position: "", revision: -1, eventId: "", quarantine: null },
});

/** The key of an event, which is known even if its content is damaged. */
export function keyOf({ key }: Pick<Projection<unknown>, "key">, envelope: StoredEnvelope): string | null {
  return key(placeOf(envelope));
}

/** Applies an event, or quarantines it: the key is degraded from there on, and the fold continues. */
export function takeIn<View>(
  { apply }: Projection<View>,
  state: ViewState<View>,
  { envelope, reading }: { readonly envelope: StoredEnvelope; readonly reading: Reading },
): void {
  const reason = placeProblem(state, envelope) ?? applyProblem(apply, state, reading);
  state.position = envelope.position;
  state.revision = envelope.revision;
  state.eventId = envelope.id;
  if (reason !== null) state.quarantine = quarantined(state.quarantine, envelope, reason);
  else if (state.quarantine !== null) state.quarantine = skipped(state.quarantine, reading);
}

/** Finds events that were inserted into or removed from a view's stream other than by its writers. */
function placeProblem({ key, revision, eventId }: ViewState<unknown>, envelope: StoredEnvelope): string | null {
  if (key !== envelope.stream) return null;
  if (envelope.id === eventId) return "the event before it is there twice";
  return envelope.revision === revision + 1 ? null : `it is in the place of revision ${revision + 1}`;
}

/** What `apply` changed before it threw stays, because the key is degraded either way. */
function applyProblem<View>(apply: Projection<View>["apply"], state: ViewState<View>, reading: Reading): string | null {
  if (reading instanceof Error) return reading.message;
  try {
    state.view = apply(state.view, reading);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function quarantined(before: Quarantine | null, envelope: StoredEnvelope, reason: string): Quarantine {
  const { stream, revision, position, type, version } = envelope;
  const { events, first } = before ?? { events: 0, first: [] };
  const event = { stream, revision, position, type, version, reason };
  return { events: events + 1, first: events < maxQuarantined ? [...first, event] : first };
}

/** If an operator skips an event (rule: Damage), the view no longer lacks it. */
function skipped({ events, first }: Quarantine, reading: Reading): Quarantine | null {
  if (reading instanceof Error || reading.event.type !== "EventSkipped") return { events, first };
  const { stream, event } = reading;
  const left = first.filter((each) => each.stream !== stream || each.revision !== event.data.revision);
  const leftEvents = events - (first.length - left.length);
  return leftEvents === 0 ? null : { events: leftEvents, first: left };
}

/** A view in its saved form. */
export const rowOf = <View>({ view, ...place }: ViewState<View>): ViewRow => ({ ...place, view: JSON.stringify(view) });

/** A view in its saved form, with its places from the projection. */
export function placedRow<View>({ places }: Pick<Projection<View>, "places">, state: ViewState<View>): PlacedRow {
  const row = rowOf(state);
  return places === undefined ? row : { ...row, places: places(state.view, state.position) };
}

/** A saved view, to continue its fold. */
export const stateOf = <View>({ view, ...place }: ViewRow): ViewState<View> => ({
  ...place,
  // The projection and version that read a build's rows also wrote them.
  view: JSON.parse(view) as View,
});
