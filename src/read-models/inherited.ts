import { createEventReader } from "../log/codec/event-log.ts";
import { forksOf, readHistory } from "../log/history/lineage.ts";
import type { EventStore, StoredEnvelope } from "../log/ports/event-store.ts";
import type { Projection } from "../projections/projection.ts";
import { asReading, initialState, type Reading, readWhole, type ViewState } from "./view-state.ts";

/** The first event of a key, and what its view is before it. */
export type ViewStart<View> = { readonly state: ViewState<View>; readonly reading: Reading };

/**
 * What a key's view is before its first event: nothing, but for the start of a fork (MODEL 11). There it is what its parent's
 * events make of it, and an ancestor that is not as it was makes the event one that cannot be taken in; for a projection that
 * counts forks for themselves it is the settings that were declared for both, as far as they can be read.
 */
export async function startView<View>(
  store: EventStore,
  projection: Projection<View>,
  first: { readonly key: string; readonly envelope: StoredEnvelope; readonly reading: Reading },
): Promise<ViewStart<View>> {
  const { key, envelope, reading } = first;
  const state = initialState(projection, key);
  if (!isFork(reading)) return { state, reading };
  try {
    for await (const recorded of inherited(store, projection, envelope.stream)) {
      state.view = projection.apply(state.view, recorded);
    }
    return { state, reading };
  } catch (error) {
    const problem = asReading(error);
    return { state: initialState(projection, key), reading: projection.lineage === "own" ? reading : problem };
  }
}

const isFork = (reading: Reading): boolean =>
  !(reading instanceof Error) &&
  reading.event.type === "ConversationStarted" &&
  reading.event.data.origin.type === "fork";

async function* inherited(store: EventStore, { lineage }: Pick<Projection<unknown>, "lineage">, stream: string) {
  const reader = createEventReader(store);
  if (lineage === "inherit") {
    for await (const recorded of readHistory(reader, stream, { to: 0 })) if (recorded.stream !== stream) yield recorded;
    return;
  }
  for (const fork of await forksOf(reader, stream)) {
    for await (const envelope of store.readStream(fork.stream, { limit: fork.revision + 1 })) {
      if (envelope.type !== "SettingsDeclared") continue;
      const declared = await readWhole(store, envelope);
      if (!(declared instanceof Error)) yield declared;
    }
  }
}
