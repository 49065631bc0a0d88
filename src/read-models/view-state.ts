import { placeOf } from "../log/codec/place.ts";
import type { Reading } from "../log/codec/recorded.ts";
import type { StoredEnvelope } from "../log/ports/event-store.ts";
import type { PlacedRow, Quarantine, ViewRow } from "../log/ports/view-store.ts";
import type { Projection } from "../projections/projection.ts";

/** The view of one key while it is being folded, and the newest event of its key. */
export type ViewState<View> = {
  readonly key: string;
  view: View;
  position: string;
  revision: number;
  eventId: string;
  quarantine: Quarantine | null;
};

/** How many events of one key are kept in quarantine; of more only the number is. */
export const maxQuarantined = 100;

/** A view to which nothing has happened. */
export const initialState = <View>({ initial }: Projection<View>, key: string): ViewState<View> => ({
  ...{ key, view: initial(key), position: "", revision: -1, eventId: "", quarantine: null },
});

/** The key of an event, which no damage to its content hides. */
export function keyOf({ key }: Pick<Projection<unknown>, "key">, envelope: StoredEnvelope): string | null {
  return key(placeOf(envelope));
}

/** Takes an event in, or puts it into quarantine: the key is degraded from there on, and the fold goes on. */
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

/** What a view that holds one stream sees of events that were put in or taken out beside the writers' rules. */
function placeProblem({ key, revision, eventId }: ViewState<unknown>, envelope: StoredEnvelope): string | null {
  if (key !== envelope.stream) return null;
  if (envelope.id === eventId) return "the event before it is there twice";
  return envelope.revision === revision + 1 ? null : `it stands where revision ${revision + 1} is due`;
}

/** What `apply` changed before it threw stays: the key is degraded either way. */
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

/** An operator may say of an event that it is to be left out (rule: Damage): then nothing is lacking without it. */
function skipped({ events, first }: Quarantine, reading: Reading): Quarantine | null {
  if (reading instanceof Error || reading.event.type !== "EventSkipped") return { events, first };
  const { stream, event } = reading;
  const left = first.filter((each) => each.stream !== stream || each.revision !== event.data.revision);
  const leftEvents = events - (first.length - left.length);
  return leftEvents === 0 ? null : { events: leftEvents, first: left };
}

/** A view as it is saved. */
export const rowOf = <View>({ view, ...place }: ViewState<View>): ViewRow => ({ ...place, view: JSON.stringify(view) });

/** A view as it is saved, with the places that its projection gives it. */
export function placedRow<View>({ places }: Pick<Projection<View>, "places">, state: ViewState<View>): PlacedRow {
  const row = rowOf(state);
  return places === undefined ? row : { ...row, places: places(state.view, state.position) };
}

/** A saved view, to be folded on. */
export const stateOf = <View>({ view, ...place }: ViewRow): ViewState<View> => ({
  ...place,
  // Rows of a build are written by the projection and the version that read them.
  view: JSON.parse(view) as View,
});
