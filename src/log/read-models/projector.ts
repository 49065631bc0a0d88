import {
  audit,
  defer,
  distinctUntilChanged,
  filter,
  finalize,
  fromEvent,
  last,
  map,
  mergeMap,
  NEVER,
  Observable,
  of,
  ReplaySubject,
  Subject,
  share,
  startWith,
  takeUntil,
} from "rxjs";
import type { Projection } from "../../projections/projection.ts";
import { comparePositions, type EventStore } from "../ports/event-store.ts";
import type { ViewRow } from "../ports/view-store.ts";
import { type ProjectedView, projectedView } from "./projected-view.ts";
import { type ProjectorOptions, RowProjector, type ViewWatch } from "./row-projector.ts";
import { rowOf, type ViewState } from "./view-state.ts";

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

/** Emits once this turn of the event loop has nothing else to do: all events that have arrived are then in the view. */
const endOfTurn = new Observable<undefined>((subscriber) => process.nextTick(() => subscriber.next(undefined)));

/**
 * Notifies watchers of single keys of changed views: once for all events applied between two turns of the
 * event loop, in the same turn, and never with an older view after a newer one.
 */
class LiveViews<View> implements ViewWatch<View> {
  readonly #viewsByKey = new Map<string, Observable<ProjectedView<View>>>();
  #read: (key: string) => Promise<ViewRow | null> = async () => null;
  /** The changed views; null if any published view may have changed. */
  #changes = new Subject<ViewState<View> | null>();

  /** @param read - Returns the current view for late subscribers. */
  attach(read: (key: string) => Promise<ViewRow | null>): void {
    this.#read = read;
  }

  watch(key: string): Observable<ProjectedView<View>> {
    return defer(() => {
      const views = this.#viewsByKey.get(key) ?? this.#views(key);
      this.#viewsByKey.set(key, views);
      return views;
    });
  }

  /** A view was changed; it may change again before its watchers are notified. */
  note(state: ViewState<View>): void {
    if (this.#viewsByKey.has(state.key)) this.#changes.next(state);
  }

  /** Checks all watched views: the published views may have changed. */
  refresh(): void {
    this.#changes.next(null);
  }

  /** Completes all watchers, or fails them with an error. */
  end(error?: unknown): void {
    const ended = this.#changes;
    this.#changes = new Subject();
    if (error === undefined) ended.complete();
    else ended.error(error);
  }

  /** One observable for all watchers of the key; late subscribers get the last view. */
  #views(key: string): Observable<ProjectedView<View>> {
    return defer(() => {
      const changes = this.#changes;
      return changes.pipe(
        filter((changed) => changed === null || changed.key === key),
        startWith(null),
        audit(() => endOfTurn),
        mergeMap((changed) => (changed === null ? this.#read(key) : of(rowOf(changed)))),
        filter((row) => row !== null),
        distinctUntilChanged((told, row) => !isNews(row, told)),
        map((row) => projectedView<View>(row)),
        takeUntil(changes.pipe(last(null, null))),
        finalize(() => this.#viewsByKey.delete(key)),
      );
    }).pipe(share({ connector: () => new ReplaySubject(1) }));
  }
}

function isNews(row: ViewRow, told: ViewRow): boolean {
  const order = comparePositions(row.position, told.position);
  // A rebuilt key may have another view after the same events.
  const isOther = row.view !== told.view || row.quarantine?.events !== told.quarantine?.events;
  return order > 0 || (order === 0 && isOther);
}

/**
 * Iterates over an observable: each step returns the newest value, so that nothing accumulates
 * for a slow reader and the last value is never missed.
 */
async function* newest<T>(values: Observable<T>, signal?: AbortSignal): AsyncIterable<T> {
  const told: Told<T> = { latest: [], end: null };
  let news = Promise.withResolvers<undefined>();
  const note = (change: Partial<Told<T>>): void => {
    Object.assign(told, change);
    news.resolve(undefined);
  };
  const aborted = signal === undefined ? NEVER : signal.aborted ? of(undefined) : fromEvent(signal, "abort");
  const subscription = values.pipe(takeUntil(aborted)).subscribe({
    next: (value) => note({ latest: [value] }),
    error: (error: unknown) => note({ end: { error } }),
    complete: () => note({ end: {} }),
  });
  try {
    for (;;) {
      const { latest, end } = told;
      told.latest = [];
      yield* latest;
      if (latest.length > 0) continue;
      if (end === null) await news.promise;
      else if ("error" in end) throw end.error;
      else return;
      news = Promise.withResolvers();
    }
  } finally {
    subscription.unsubscribe();
  }
}

type Told<T> = { latest: readonly T[]; end: { readonly error?: unknown } | null };
