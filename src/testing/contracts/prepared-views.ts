import type { EventStore } from "../../log/ports/event-store.ts";
import type { ListedPage, ViewBatch, ViewBuild, ViewRow, ViewStore } from "../../log/ports/view-store.ts";

/** What the checks are run on. */
export type StoreWithViews = EventStore & { readonly views: ViewStore };

/** The first rows of a build. */
export const page = { after: null, limit: 100 };

/** The build with a batch. */
export async function saved(views: ViewStore, build: ViewBuild, batch: ViewBatch): Promise<ViewBuild> {
  const result = await views.save(build, batch);
  if (result.status === "conflict") throw new Error("the save was refused");
  return result.build;
}

/** A batch without rows, up to so many events. */
export const batch = (events: number): ViewBatch => ({ ...place(events), rows: [] });

/** The checkpoint after so many events. */
export const place = (events: number) => ({
  events,
  checkpoint: {
    ...{ storeId: "store", position: String(events), eventId: "event", stream: "conversation-1" },
    revision: events - 1,
  },
});

/** A row of this key. */
export const row = (key: string, changes: Partial<ViewRow> = {}): ViewRow => ({
  ...{ key, view: '{"text":"é 你好 🙂"}', position: "1", revision: 0, eventId: "event", quarantine: null },
  ...changes,
});

/** What a row that lacks something says of it. */
export const quarantine = {
  events: 2,
  first: [{ stream: "s", revision: 3, position: "10", type: "Noted", version: 1, reason: 'unknown "type" 🙂' }],
};

/** The first rows of some lists. */
export const listedPage = (lists: readonly string[], changes: Partial<ListedPage> = {}): ListedPage => ({
  ...{ lists, from: null, until: null, order: "ascending", after: null, limit: 100 },
  ...changes,
});
