import type { Observable } from "rxjs";
import type { Projection } from "../../projections/projection.ts";
import type { EventStore } from "../ports/event-store.ts";
import { LiveViews, newest } from "./live-views.ts";
import type { ProjectedView } from "./projected-view.ts";
import { type ProjectorOptions, RowProjector } from "./row-projector.ts";

/** Keeps the rows of one projection up to date with the log, reads them, and reports changes of single views. Only it needs rxjs. */
export class Projector<View> extends RowProjector<View> {
  readonly #live: LiveViews<View>;

  constructor(store: EventStore, projection: Projection<View>, options?: ProjectorOptions) {
    const live = new LiveViews<View>();
    super(store, projection, options, live);
    this.#live = live;
  }

  /**
   * The current view of a key at once, and again whenever `run` has changed it: in the turn of the event loop in which its event
   * arrived, once for all events that arrived together. Ends with `run`.
   */
  view$(key: string): Observable<ProjectedView<View>> {
    return this.#live.watch(key);
  }

  /** The same as an async iterable: each step gives the newest view. */
  follow(key: string, signal?: AbortSignal): AsyncIterable<ProjectedView<View>> {
    return newest(this.view$(key), signal);
  }
}

/** A projector of a store's events: `createProjector(store.events, conversationList)`. */
export const createProjector = <View>(
  store: EventStore,
  projection: Projection<View>,
  options?: ProjectorOptions,
): Projector<View> => new Projector(store, projection, options);
