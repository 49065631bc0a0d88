import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject } from "../../base/json.ts";
import { anything, checkWhole, kindOf, optionsOf } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Projection } from "../../projections/projection.ts";
import { comparePositions, type EventStore } from "../ports/event-store.ts";
import { StoreClosedError, StoreUnavailableError } from "../ports/store-errors.ts";
import type { ListedPage, ListRange, ViewBuild, ViewRow, ViewStore } from "../ports/view-store.ts";
import { checkVersion, findBuild, publishedBuild, readPages, untilUndisturbed, type Work } from "./build.ts";
import { ViewFold } from "./fold.ts";
import type { MismatchedRow } from "./mismatched-rows.ts";
import { type ProjectedView, projectedView } from "./projected-view.ts";
import { catchUp, createSource, type EventSource, goLive, type PumpOptions, type PumpOutcome } from "./pump.ts";
import { type ProjectorStatus, readStatus } from "./status.ts";
import { rowOf, type ViewState } from "./view-state.ts";

export type ProjectorOptions = {
  /** Only this stream's events. Default: those of all conversations. */
  readonly stream?: string;
  /** Where rows are kept. Default: beside the events. */
  readonly views?: ViewStore;
  /** The maximum number of events in a batch; one with 512 changed views is saved earlier. Default: 4,096. */
  readonly maxEvents?: number;
  /** How long a live event may wait to be saved. Default: 100. */
  readonly saveWithinMs?: number;
  /** Waits before the n-th retry while the store is unavailable. */
  readonly pause?: (attempt: number) => Promise<void>;
};

export type CatchUpOptions = {
  /** Stops between two events; applied events are saved. */
  readonly signal?: AbortSignal;
  /** Called after every save with the number of events that the rows include. */
  readonly onProgress?: (events: number) => void;
};

const projectorOptions = optionsOf<ProjectorOptions>({
  ...{ stream: anything, views: anything, maxEvents: checkWhole, saveWithinMs: anything, pause: anything },
});
const catchUpOptions = optionsOf<CatchUpOptions>({ signal: anything, onProgress: anything });

/** Is notified of changed views while the rows follow the log. */
export type ViewWatch<View> = {
  /** Called first, with a function that reads the current view. */
  readonly attach: (read: (key: string) => Promise<ViewRow | null>) => void;
  /** A view was changed. */
  readonly note: (state: ViewState<View>) => void;
  /** Any published view may have changed. */
  readonly refresh: () => void;
  /** There are no further changes, or the run failed with an error. */
  readonly end: (error?: unknown) => void;
};

/** Keeps the rows of one projection up to date with the log, and reads them. To watch single views, use `Projector`. */
export class RowProjector<View> {
  readonly #work: Work;
  readonly #projection: Projection<View>;
  readonly #source: EventSource;
  readonly #limits: Pick<PumpOptions, "maxEvents" | "saveWithinMs">;
  readonly #pause: (attempt: number) => Promise<void>;
  readonly #watch: ViewWatch<View> | null;
  /** The fold that follows the log now; null if there is none, or it has not caught up. */
  #following: { readonly fold: ViewFold<View>; readonly leave: AbortController } | null = null;
  #state: ProjectorStatus["state"] = "idle";

  constructor(
    store: EventStore,
    projection: Projection<View>,
    options: ProjectorOptions = {},
    watch: ViewWatch<View> | null = null,
  ) {
    checkProjector(store, projection, options);
    const { stream = null, views = store.views, maxEvents = 4_096, saveWithinMs = 100 } = options;
    if (views === undefined)
      throw new TurnlogError("no-views", "this store has no place for rows of projections: name one (views)");
    const name = stream === null ? projection.name : `${projection.name}/${stream}`;
    this.#work = { store, views, projection, name };
    this.#projection = projection;
    this.#source = createSource(store, stream);
    this.#limits = { maxEvents, saveWithinMs };
    this.#pause = options.pause ?? ((attempt) => sleep(Math.min(10 * 2 ** attempt, 5_000)));
    this.#watch = watch;
    watch?.attach((key) => this.#readRow(key));
  }

  get name(): string {
    return this.#work.name;
  }

  /**
   * Applies all events up to the end of the log. Rows of an older version, or of another log, are rebuilt; readers use the old ones
   * until then.
   *
   * @throws {TurnlogError} `projection-outdated` if a newer version made the existing rows.
   * @throws {StoreUnavailableError} if events or rows cannot be read or written; it may be called again.
   */
  async catchUp(options: CatchUpOptions = {}): Promise<void> {
    catchUpOptions.check("catchUp", options);
    await untilUndisturbed(this.#work, "catch up", async () => this.#round(await findBuild(this.#work), options));
  }

  /** Rebuilds all rows; readers use the existing ones until then. Throws as `catchUp` does. */
  async rebuild(options: CatchUpOptions = {}): Promise<void> {
    catchUpOptions.check("rebuild", options);
    const { views, name, projection } = this.#work;
    checkVersion(await views.builds(name), this.#work);
    const build = await views.begin(name, projection.version);
    // If another process was faster, its rows are just as new.
    if ((await this.#round(build, options)) === "disturbed") await this.catchUp(options);
  }

  /**
   * Catches up and applies every new event, until the signal aborts or the store is closed. While the store is
   * unavailable it waits.
   */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for (let failures = 0; !signal.aborted; ) {
        try {
          await this.#round(await findBuild(this.#work), { signal }, (fold, onSaved) => {
            failures = 0;
            return this.#follow(fold, { signal, onSaved });
          });
        } catch (error) {
          if (error instanceof StoreClosedError) break;
          if (!(error instanceof StoreUnavailableError)) throw error;
          failures += 1;
          await this.#pause(failures);
        }
      }
      this.#watch?.end();
    } catch (error) {
      this.#watch?.end(error);
      throw error;
    }
  }

  /** The view of a key as of the last save by any process; null if the key has no events. */
  async read(key: string): Promise<ProjectedView<View> | null> {
    const build = await publishedBuild(this.#work);
    const row = build === null ? null : await this.#work.views.row(build, key);
    return row === null ? null : projectedView(row);
  }

  /** All views, in the order of their keys' UTF-8 bytes. */
  async *readAll(): AsyncIterable<ProjectedView<View>> {
    for await (const page of readPages(this.#work, () => publishedBuild(this.#work)))
      for (const row of page) yield projectedView(row);
  }

  /** A page of the views that are in some lists, and their places (`projection.places`). */
  async readListed(page: ListedPage): Promise<readonly ListedView<View>[]> {
    const build = await publishedBuild(this.#work);
    const rows = build === null ? [] : await this.#work.views.listed(build, page);
    return rows.map(({ at, ...row }) => ({ ...projectedView<View>(row), at }));
  }

  /** How many views are in all of some lists. */
  async countListed(range: ListRange): Promise<number> {
    const build = await publishedBuild(this.#work);
    return build === null ? 0 : this.#work.views.countListed(build, range);
  }

  /**
   * The views whose JSON contains all of these texts within its strings, those with the newest events first: the basis of text
   * search. A text may also match elsewhere in the JSON, so the caller checks each view.
   */
  async *readContaining(texts: readonly string[]): AsyncIterable<ProjectedView<View>> {
    const build = await publishedBuild(this.#work);
    if (build === null) return;
    const { views } = this.#work;
    const places = await views.containing(
      build,
      texts.map((text) => JSON.stringify(text).slice(1, -1)),
    );
    for (const { key } of places.toSorted((left, right) => comparePositions(right.position, left.position))) {
      const row = await views.row(build, key);
      if (row !== null) yield projectedView(row);
    }
  }

  /** The degraded views, in the order of their keys. */
  async degraded(): Promise<readonly ProjectedView<View>[]> {
    const build = await publishedBuild(this.#work);
    return build === null ? [] : (await this.#work.views.degraded(build)).map((row) => projectedView<View>(row));
  }

  /** Rebuilds the view of a key from its events; null if there are none. An event that cannot be applied degrades it again. */
  async retry(key: string): Promise<ProjectedView<View> | null> {
    const { retryKey } = await import("./key-fold.ts");
    const row = await retryKey(this.#work, this.#projection, key);
    // A fold that follows the log here still has the old view.
    this.#following?.leave.abort();
    return row === null ? null : projectedView(row);
  }

  /**
   * The first row that differs from the events of a stream (or of a key, if keys are not streams); null if there is none.
   * It changes nothing; use `retry` to repair.
   */
  async mismatchedRow(stream: string): Promise<MismatchedRow | null> {
    const { mismatchedRowOf } = await import("./mismatched-rows.ts");
    return mismatchedRowOf(this.#work, this.#projection, stream);
  }

  /** Rows without events. */
  async *orphanRows(): AsyncIterable<MismatchedRow> {
    const { orphanRows } = await import("./mismatched-rows.ts");
    yield* orphanRows(this.#work, this.#projection);
  }

  async status(): Promise<ProjectorStatus> {
    return { ...(await readStatus(this.#work, this.#source)), state: this.#state };
  }

  /** Brings a build up to the end of the log, publishes it, and then calls `then`. */
  async #round(
    build: ViewBuild,
    { signal, onProgress }: CatchUpOptions,
    then: (fold: ViewFold<View>, onSaved: () => void) => Promise<PumpOutcome> = async () => "done",
  ): Promise<PumpOutcome> {
    const { store, views } = this.#work;
    const fold: ViewFold<View> = new ViewFold({
      ...{ store, views, projection: this.#projection, build },
      onChange: (state) => {
        if (this.#following?.fold === fold) this.#watch?.note(state);
      },
    });
    const onSaved = (): void => onProgress?.(fold.build.events);
    this.#state = "catching-up";
    try {
      const outcome = await catchUp(fold, this.#source, { ...this.#limits, signal, onSaved });
      if (outcome !== "done") return outcome;
      if (!fold.build.isPublished && !(await views.publish(fold.build))) return "disturbed";
      return await then(fold, onSaved);
    } finally {
      this.#state = "idle";
    }
  }

  async #follow(fold: ViewFold<View>, { signal, onSaved }: Following): Promise<PumpOutcome> {
    const leave = new AbortController();
    this.#following = { fold, leave };
    this.#state = "live";
    this.#watch?.refresh();
    try {
      const either = AbortSignal.any([signal, leave.signal]);
      return await goLive(fold, this.#source, { ...this.#limits, signal: either, onSaved });
    } finally {
      this.#following = null;
    }
  }

  async #readRow(key: string): Promise<ViewRow | null> {
    if (this.#following !== null) {
      const state = await this.#following.fold.state(key);
      return state === null ? null : rowOf(state);
    }
    const build = await publishedBuild(this.#work);
    return build === null ? null : this.#work.views.row(build, key);
  }
}

/** A view on a page of a list. */
export type ListedView<View> = ProjectedView<View> & { readonly at: string };

type Following = { readonly signal: AbortSignal; readonly onSaved: () => void };

/** Rows without live views, for turnlog's own readers. */
export const createRowProjector = <View>(
  store: EventStore,
  projection: Projection<View>,
  options?: ProjectorOptions,
): RowProjector<View> => new RowProjector(store, projection, options);

/** @throws {TypeError} if the store or the projection is not one, or an option is unknown. */
function checkProjector(store: unknown, projection: unknown, options: ProjectorOptions): void {
  const { events, readLog } = isJsonObject(store) ? store : {};
  if (typeof readLog !== "function") {
    const instead = events === undefined ? "give the events of an open store" : "write store.events";
    throw new TypeError(`createProjector takes a store's events, not ${kindOf(store)}: ${instead}`);
  }
  const { name, apply, initial, key } = isJsonObject(projection) ? projection : {};
  if (typeof name !== "string" || [apply, initial, key].some((member) => typeof member !== "function"))
    throw new TypeError("createProjector takes a projection: { name, version, lineage, key, initial, apply }");
  projectorOptions.check("createProjector", options);
}
