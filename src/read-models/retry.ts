import { comparePositions, type StoredEnvelope, StoreUnavailableError } from "../log/ports/event-store.ts";
import type { Checkpoint, ViewRow } from "../log/ports/view-store.ts";
import type { Projection } from "../projections/projection.ts";
import { publishedBuild, type Work } from "./build.ts";
import { startView, type ViewStart } from "./inherited.ts";
import { keyOf, readWhole, rowOf, takeIn, type ViewState } from "./view-state.ts";

/** How often a retry begins again because the rows were saved meanwhile. */
const maxAttempts = 100;

/** Makes the row of a key anew, from the events that the build has seen; null when none of them is of this key. */
export async function retryKey<View>(work: Work, projection: Projection<View>, key: string): Promise<ViewRow | null> {
  const { views } = work;
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const build = await publishedBuild(work);
    const { checkpoint, events } = build ?? { checkpoint: null, events: 0 };
    if (build === null || checkpoint === null) return null;
    const state = await foldKey(work, projection, { key, checkpoint });
    if (state === null) return null;
    const row = rowOf(state);
    const result = await views.save(build, { checkpoint, events, rows: [row] });
    if (result.status === "saved") return row;
  }
  throw new StoreUnavailableError(`the rows of ${work.name} are saved too often to retry ${key}: try again`);
}

type Range = { readonly key: string; readonly checkpoint: Checkpoint | null };

/** What the events of a key give, up to a checkpoint; null when none of them is of this key. */
export async function foldKey<View>(
  work: Work,
  projection: Projection<View>,
  { key, checkpoint }: Range,
): Promise<ViewState<View> | null> {
  if (checkpoint === null) return null;
  const { store } = work;
  let state: ViewState<View> | null = null;
  for await (const envelope of eventsOf(work, projection, key)) {
    if (comparePositions(envelope.position, checkpoint.position) > 0) break;
    const reading = await readWhole(store, envelope);
    const begun: ViewStart<View> =
      state === null ? await startView(store, projection, { key, envelope, reading }) : { state, reading };
    ({ state } = begun);
    takeIn(projection, state, { envelope, reading: begun.reading });
  }
  return state;
}

/** Those of its stream, where keys are streams; else all of the log that say so. */
async function* eventsOf<View>(
  { store }: Work,
  projection: Projection<View>,
  key: string,
): AsyncIterable<StoredEnvelope> {
  if ((await store.head(key)) !== null) {
    yield* store.readStream(key);
    return;
  }
  for await (const envelope of store.readLog({ streamPrefix: "conversation-" }))
    if (keyOf(projection, envelope) === key) yield envelope;
}
