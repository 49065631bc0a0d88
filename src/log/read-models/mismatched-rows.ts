import { canonicalJson } from "../../base/canonical-json.ts";
import type { JsonValue } from "../../base/json.ts";
import type { Projection } from "../../projections/projection.ts";
import { linesErased } from "../codec/erased.ts";
import { comparePositions, type EventStore, envelopeAt } from "../ports/event-store.ts";
import { StoreUnavailableError } from "../ports/store-errors.ts";
import type { Checkpoint, PlacedRow, ViewBuild, ViewRow } from "../ports/view-store.ts";
import { isOfThisLog, publishedBuild, readPages, untilUndisturbed, type Work } from "./build.ts";
import { foldKey, foldStream } from "./key-fold.ts";
import { keyOf, placedRow } from "./view-state.ts";

/** A published row that differs from its events, and the newest event that it should include. */
export type MismatchedRow = { readonly key: string; readonly revision: number };

/**
 * Compares the row of a key with its events, up to the build's checkpoint. Null if they agree, if there are no published
 * rows of this version and this log, and for a row that is marked as degraded.
 */
function mismatchedRow<View>(work: Work, projection: Projection<View>, key: string): Promise<MismatchedRow | null> {
  return untilUndisturbed(work, `compare ${key}`, async () => {
    const build = await comparableBuild(work);
    if (build === null) return null;
    const row = await savedRow(work, build, key);
    const state = await foldKey(work, projection, { key, checkpoint: build.checkpoint });
    if (row?.quarantine != null || isSame(row, state && placedRow(projection, state))) return null;
    if (row === null && (await isToBeMade(work, projection.streamOf?.(key) ?? key, build.checkpoint))) return null;
    return (await isStill(work, build)) ? { key, revision: state?.revision ?? 0 } : "disturbed";
  });
}

/** The same for all rows from the events of a stream: the first that differs. */
export function mismatchedRowOf<View>(
  work: Work,
  projection: Projection<View>,
  stream: string,
): Promise<MismatchedRow | null> {
  if (projection.streamOf === undefined) return mismatchedRow(work, projection, stream);
  return untilUndisturbed(work, `compare the rows of ${stream}`, async () => {
    const build = await comparableBuild(work);
    if (build === null) return null;
    for await (const state of foldStream(work, projection, { stream, checkpoint: build.checkpoint })) {
      const { key, revision } = state;
      const row = await savedRow(work, build, key);
      if (row?.quarantine != null || isSame(row, placedRow(projection, state))) continue;
      if (row === null && (await isToBeMade(work, stream, build.checkpoint))) continue;
      return (await isStill(work, build)) ? { key, revision } : "disturbed";
    }
    return null;
  });
}

/** Whether an erasure after the checkpoint deleted the rows of a stream: the next catch-up makes them again. */
async function isToBeMade({ store }: Work, stream: string, checkpoint: Checkpoint | null): Promise<boolean> {
  for await (const { type, position } of store.readStream(stream, { direction: "backwards" })) {
    if (checkpoint !== null && comparePositions(position, checkpoint.position) <= 0) return false;
    if (type === linesErased) return true;
  }
  return false;
}

/** Rows without events. */
export async function* orphanRows<View>(work: Work, projection: Projection<View>): AsyncIterable<MismatchedRow> {
  for await (const page of readPages(work, () => comparableBuild(work)))
    for (const { key, revision } of page)
      if (await isOrphan(work.store, projection, { key, revision })) yield { key, revision: 0 };
}

async function isOrphan<View>(
  store: EventStore,
  projection: Projection<View>,
  { key, revision }: MismatchedRow,
): Promise<boolean> {
  if (projection.streamOf === undefined) return (await store.head(key)) === null;
  // Its newest event must exist and have its key.
  const newest = await envelopeAt(store, projection.streamOf(key), revision);
  return newest === null || keyOf(projection, newest) !== key;
}

async function isStill(work: Work, build: ViewBuild): Promise<boolean> {
  const now = await comparableBuild(work);
  return now?.id === build.id && now.saves === build.saves;
}

async function comparableBuild(work: Work): Promise<ViewBuild | null> {
  try {
    const build = await publishedBuild(work);
    const isCurrent = build?.version === work.projection.version;
    return isCurrent && (await isOfThisLog(work.store, build.checkpoint)) ? build : null;
  } catch (error) {
    // A read-only file has no place for rows, so no reader uses any.
    if (error instanceof StoreUnavailableError) return null;
    throw error;
  }
}

async function savedRow({ views }: Work, build: ViewBuild, key: string): Promise<PlacedRow | null> {
  const row = await views.row(build, key);
  return row && { ...row, places: await views.places(build, key) };
}

function isSame(row: PlacedRow | null, made: PlacedRow | null): boolean {
  if (row === null || made === null) return row === made;
  const isPlaced = row.position === made.position && row.revision === made.revision && row.eventId === made.eventId;
  return isPlaced && contentOf(row) === contentOf(made) && placesOf(row) === placesOf(made);
}

const placesOf = ({ places = [] }: PlacedRow): string =>
  JSON.stringify(places.map(({ list, at }) => JSON.stringify([list, at])).toSorted());

/** Null if the text is not JSON. */
function contentOf({ view }: ViewRow): string | null {
  try {
    // Any parsed value is JSON.
    return canonicalJson(JSON.parse(view) as JsonValue);
  } catch {
    return null;
  }
}
