import { blockFromJson } from "../../../src/domain/block-json.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import type { ProjectedView } from "../../../src/log/read-models/projected-view.ts";
import { createRowProjector, type RowProjector } from "../../../src/log/read-models/row-projector.ts";
import type { Projection } from "../../../src/projections/projection.ts";
import { createMemoryViews } from "../../../src/stores/memory/views.ts";
import { all } from "../../../src/testing/contracts/prepared.ts";

/** All that readers see of a projection. */
export const rowsOf = <View>(projector: RowProjector<View>): Promise<readonly ProjectedView<View>[]> =>
  all(projector.readAll());

/** A store in which some things are done otherwise. */
export const changedStore = (store: EventStore, changes: Partial<EventStore>): EventStore => ({
  ...store,
  ...changes,
  [Symbol.asyncDispose]: () => store.close(),
});

/** The rows that one pass over the whole log makes. */
export async function rowsFromScratch<View>(
  store: EventStore,
  projection: Projection<View>,
): Promise<readonly ProjectedView<View>[]> {
  const projector = createRowProjector(store, projection, { views: createMemoryViews(), maxEvents: 1_000_000 });
  await projector.catchUp();
  return rowsOf(projector);
}

/** What was said in each stream, in order: what depends on every event, its place and its content. */
export const texts: Projection<{ readonly texts: readonly string[] }> = {
  name: "texts",
  version: 1,
  lineage: "own",
  key: ({ stream }) => stream,
  initial: () => ({ texts: [] }),
  apply(view, { event, revision }) {
    if (event.type === "ConversationRelabelled") throw new Error("no titles here");
    const what = event.type === "BlockAppended" ? blockFromJson(event.data.block).text : event.type;
    return { texts: [...view.texts, `${revision} ${what}`] };
  },
};
