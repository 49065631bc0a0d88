import type { Projection } from "../../projections/projection.ts";
import { isErased } from "../codec/erased.ts";
import { asReading, type Reading, tryToRead } from "../codec/recorded.ts";
import { forksOf, isFork, readHistory } from "../history/lineage.ts";
import { foldAround, type SkippedEvents } from "../history/skipped-events.ts";
import { comparePositions, type EventStore, type StoredEnvelope } from "../ports/event-store.ts";
import type { Checkpoint, ViewRow } from "../ports/view-store.ts";
import { publishedBuild, untilUndisturbed, type Work } from "./build.ts";
import { initialState, keyOf, placedRow, takeIn, type ViewState } from "./view-state.ts";

/** Rebuilds the row of a key from the events that the build has applied; null if none has this key. */
export function retryKey<View>(work: Work, projection: Projection<View>, key: string): Promise<ViewRow | null> {
  return untilUndisturbed(work, `retry ${key}`, async () => {
    const build = await publishedBuild(work);
    const { checkpoint, events } = build ?? { checkpoint: null, events: 0 };
    if (build === null || checkpoint === null) return null;
    const state = await foldKey(work, projection, { key, checkpoint });
    if (state === null) return null;
    const { places = [], ...row } = placedRow(projection, state);
    const result = await work.views.save(build, { checkpoint, events, rows: [{ ...row, places }] });
    return result.status === "saved" ? row : "disturbed";
  });
}

type Range = { readonly key: string; readonly checkpoint: Checkpoint | null };

/** The view of a key from its events, up to a checkpoint; null if no event has this key. */
export async function foldKey<View>(
  work: Pick<Work, "store">,
  projection: Projection<View>,
  { key, checkpoint }: Range,
): Promise<ViewState<View> | null> {
  if (checkpoint === null) return null;
  const { store } = work;
  let state: ViewState<View> | null = null;
  for await (const envelope of eventsOf(work, projection, key)) {
    if (comparePositions(envelope.position, checkpoint.position) > 0) break;
    if (isErased(envelope)) continue;
    const reading = await tryToRead(store, envelope);
    state = await takeNext(store, projection, { key, state, envelope, reading });
  }
  return state;
}

/**
 * The view of a stream from its events alone, for a reader who may not read rows, or who asks what they do not hold. Null if there is no
 * such stream; `erased` if its conversation was erased.
 *
 * @param onEvent - Called after each event.
 */
export async function foldStreamNow<View>(
  store: EventStore,
  projection: Projection<View>,
  stream: string,
  onEvent: () => void = () => undefined,
): Promise<ViewState<View> | "erased" | null> {
  let state: ViewState<View> | null = null;
  for await (const envelope of store.readStream(stream)) {
    if (isErased(envelope)) return "erased";
    state = await takeNext(store, projection, {
      key: stream,
      state,
      envelope,
      reading: await tryToRead(store, envelope),
    });
    onEvent();
  }
  return state;
}

/** The views of a stream's keys, up to a checkpoint, one after another: the events of each key are contiguous. */
export async function* foldStream<View>(
  { store }: Work,
  projection: Projection<View>,
  { stream, checkpoint }: { readonly stream: string; readonly checkpoint: Checkpoint | null },
): AsyncIterable<ViewState<View>> {
  if (checkpoint === null) return;
  let state: ViewState<View> | null = null;
  for await (const envelope of store.readStream(stream)) {
    if (comparePositions(envelope.position, checkpoint.position) > 0) break;
    const key = keyOf(projection, envelope);
    if (key === null || isErased(envelope)) continue;
    if (state !== null && state.key !== key) {
      yield state;
      state = null;
    }
    state = await takeNext(store, projection, { key, state, envelope, reading: await tryToRead(store, envelope) });
  }
  if (state !== null) yield state;
}

/** The events of a key: from its stream, if it has one; otherwise from the whole log. */
async function* eventsOf<View>(
  { store }: Pick<Work, "store">,
  projection: Projection<View>,
  key: string,
): AsyncIterable<StoredEnvelope> {
  const stream = projection.streamOf?.(key) ?? key;
  if ((await store.head(stream)) !== null) {
    for await (const envelope of store.readStream(stream)) if (keyOf(projection, envelope) === key) yield envelope;
    return;
  }
  for await (const envelope of store.readLog({ streamPrefix: "conversation-" }))
    if (keyOf(projection, envelope) === key) yield envelope;
}

type Next<View> = {
  readonly key: string;
  /** Null before the first event of the key. */
  readonly state: ViewState<View> | null;
  readonly envelope: StoredEnvelope;
  readonly reading: Reading;
};

/** Applies the next event of a key, which may be its first. */
export async function takeNext<View>(
  store: EventStore,
  projection: Projection<View>,
  { key, state, envelope, reading }: Next<View>,
): Promise<ViewState<View>> {
  const begun = state === null ? await startView(store, projection, { key, envelope, reading }) : { state, reading };
  takeIn(projection, begun.state, { envelope, reading: begun.reading });
  return begun.state;
}

/**
 * A key's view before its first event: empty, except at the start of a fork (rule: Lineage). There, a projection that inherits folds
 * the parent's events without those that were skipped, and quarantines the first event if an ancestor has changed; a projection that
 * counts forks separately gets the settings and names that were declared for both, as far as they can be read.
 */
async function startView<View>(
  store: EventStore,
  projection: Projection<View>,
  { key, envelope, reading }: Omit<Next<View>, "state">,
): Promise<{ readonly state: ViewState<View>; readonly reading: Reading }> {
  if (reading instanceof Error || !isFork(reading.event)) return { state: initialState(projection, key), reading };
  try {
    return await foldAround({ store }, async (skipped) => {
      const state = initialState(projection, key);
      for await (const recorded of inherited(store, projection, { stream: envelope.stream, skipped }))
        state.view = projection.apply(state.view, recorded);
      return { state, reading };
    });
  } catch (error) {
    const problem = asReading(error);
    return { state: initialState(projection, key), reading: projection.lineage === "own" ? reading : problem };
  }
}

/** Events that also apply to the forks of a conversation. */
const declaredForForks: ReadonlySet<string> = new Set([
  "SettingsDeclared",
  "ConversationStarted",
  "ConversationRelabelled",
]);

async function* inherited(
  store: EventStore,
  { lineage }: Pick<Projection<unknown>, "lineage">,
  { stream, skipped }: { readonly stream: string; readonly skipped: SkippedEvents },
) {
  const reader = { store };
  if (lineage === "inherit") {
    for await (const recorded of readHistory(reader, stream, { to: 0, skipped }))
      if (recorded.stream !== stream) yield recorded;
    return;
  }
  for (const fork of await forksOf(reader, stream)) {
    for await (const envelope of store.readStream(fork.stream, { limit: fork.revision + 1 })) {
      if (!declaredForForks.has(envelope.type)) continue;
      const declared = await tryToRead(store, envelope);
      if (!(declared instanceof Error)) yield declared;
    }
  }
}
