import type { ViewStore } from "../../../src/log/ports/view-store.ts";

/** Stands around every step of a view store: it may wait, fail before or after, or end the process. */
export type AroundStep = <T>(step: () => Promise<T>) => Promise<T>;

export function surroundedViews(views: ViewStore, around: AroundStep): ViewStore {
  return {
    builds: (projection) => around(() => views.builds(projection)),
    begin: (projection, version) => around(() => views.begin(projection, version)),
    save: (build, batch) => around(() => views.save(build, batch)),
    publish: (build) => around(() => views.publish(build)),
    row: (build, key) => around(() => views.row(build, key)),
    rows: (build, page) => around(() => views.rows(build, page)),
    listed: (build, page) => around(() => views.listed(build, page)),
    countListed: (build, range) => around(() => views.countListed(build, range)),
    places: (build, key) => around(() => views.places(build, key)),
    containing: (build, texts) => around(() => views.containing(build, texts)),
    degraded: (build) => around(() => views.degraded(build)),
  };
}
