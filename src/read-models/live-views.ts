import { Observable, ReplaySubject } from "rxjs";
import { comparePositions } from "../log/ports/event-store.ts";
import type { Quarantine, ViewRow } from "../log/ports/view-store.ts";
import { rowOf, type ViewState } from "./view-state.ts";

/** A view as readers get it: a copy, which nobody changes any more. */
export type ProjectedView<View> = {
  readonly key: string;
  readonly view: View;
  /** Of the newest event of its key. */
  readonly position: string;
  /** Null when the view lacks nothing; else it is degraded from the first of these events on. */
  readonly quarantine: Quarantine | null;
};

export const projectedView = <View>({ key, view, position, quarantine }: ViewRow): ProjectedView<View> => ({
  // Rows of a build are written by the projection and the version that read them.
  ...{ key, view: JSON.parse(view) as View, position, quarantine },
});

type WatchedKey<View> = {
  readonly subject: ReplaySubject<ProjectedView<View>>;
  watchers: number;
  /** What was told last. */
  told: ViewRow | null;
};

/**
 * Tells watchers of single keys what became of their views: once for all events that were taken in between two turns of the
 * event loop, in the same turn, and never an older view after a newer one.
 */
export class LiveViews<View> {
  readonly #watchedByKey = new Map<string, WatchedKey<View>>();
  readonly #changed = new Set<ViewState<View>>();
  readonly #read: (key: string) => Promise<ViewRow | null>;

  /** @param read - Gives a view as it is now, for those who come late. */
  constructor(read: (key: string) => Promise<ViewRow | null>) {
    this.#read = read;
  }

  watch(key: string): Observable<ProjectedView<View>> {
    return new Observable((subscriber) => {
      const watched = this.#watchedByKey.get(key) ?? { subject: new ReplaySubject(1), watchers: 0, told: null };
      this.#watchedByKey.set(key, watched);
      watched.watchers += 1;
      const subscription = watched.subject.subscribe(subscriber);
      if (watched.told === null) this.#refresh(key, watched);
      return () => {
        subscription.unsubscribe();
        watched.watchers -= 1;
        if (watched.watchers === 0) this.#watchedByKey.delete(key);
      };
    });
  }

  /** A view was changed; it may change further before its watchers are told. */
  note(state: ViewState<View>): void {
    if (!this.#watchedByKey.has(state.key)) return;
    // Runs when nothing is left that this turn of the event loop can do: everything that is at hand is then in the view.
    if (this.#changed.size === 0) process.nextTick(() => this.#tell());
    this.#changed.add(state);
  }

  /** Looks at everything that is watched: the views that are read may be others now. */
  refresh(): void {
    for (const [key, watched] of this.#watchedByKey) this.#refresh(key, watched);
  }

  /** Tells all watchers that nothing more will come, or why. */
  end(error?: unknown): void {
    for (const { subject } of [...this.#watchedByKey.values()])
      if (error === undefined) subject.complete();
      else subject.error(error);
    this.#watchedByKey.clear();
  }

  #refresh(key: string, watched: WatchedKey<View>): void {
    this.#read(key).then(
      (row) => {
        if (row !== null) tell(watched, row);
      },
      (error: unknown) => watched.subject.error(error),
    );
  }

  #tell(): void {
    const states = [...this.#changed];
    this.#changed.clear();
    for (const state of states) {
      const watched = this.#watchedByKey.get(state.key);
      if (watched !== undefined) tell(watched, rowOf(state));
    }
  }
}

function tell<View>(watched: WatchedKey<View>, row: ViewRow): void {
  const { told } = watched;
  const order = told === null ? 1 : comparePositions(row.position, told.position);
  // A key that was rebuilt has another view of the same events.
  const isNew =
    order > 0 || (order === 0 && (row.view !== told?.view || row.quarantine?.events !== told.quarantine?.events));
  if (!isNew) return;
  watched.told = row;
  watched.subject.next(projectedView(row));
}

/**
 * The same for whoever takes his time: the newest view there is each time he asks, so that nothing heaps up and the last one
 * is never missed.
 */
export async function* newest<T>(values: Observable<T>, signal?: AbortSignal): AsyncIterable<T> {
  let wake = Promise.withResolvers<undefined>();
  let latest: { readonly value: T } | null = null;
  let end: { readonly error?: unknown } | null = null;
  const finish = (how: { readonly error?: unknown }): void => {
    end = how;
    wake.resolve(undefined);
  };
  const subscription = values.subscribe({
    next: (value) => {
      latest = { value };
      wake.resolve(undefined);
    },
    error: (error: unknown) => finish({ error }),
    complete: () => finish({}),
  });
  const onAbort = (): void => finish({});
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted === true) onAbort();
  const take = (): { readonly value: T } | null => {
    const taken = latest;
    latest = null;
    return taken;
  };
  const ended = (): { readonly error?: unknown } | null => end;
  try {
    for (;;) {
      const taken = take();
      if (taken !== null) {
        yield taken.value;
        continue;
      }
      const how = ended();
      if (how !== null) {
        if ("error" in how) throw how.error;
        return;
      }
      await wake.promise;
      wake = Promise.withResolvers<undefined>();
    }
  } finally {
    subscription.unsubscribe();
    signal?.removeEventListener("abort", onAbort);
  }
}
