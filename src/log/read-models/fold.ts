import { changesEarlier } from "../../domain/events/changes-earlier.ts";
import type { Projection } from "../../projections/projection.ts";
import { isErased } from "../codec/erased.ts";
import type { Reading, tryToRead } from "../codec/recorded.ts";
import { comparePositions, type EventStore, type StoredEnvelope } from "../ports/event-store.ts";
import type { Checkpoint, ViewBuild, ViewStore } from "../ports/view-store.ts";
import { initialState, keyOf, placedRow, stateOf, takeIn, type ViewState } from "./view-state.ts";

/** How many views to keep in memory after the save of their last change. */
const maxViewsHeld = 1_000;

export type FoldOptions<View> = {
  readonly store: EventStore;
  readonly views: ViewStore;
  readonly projection: Projection<View>;
  readonly build: ViewBuild;
  /** Called with every view that an event has changed. */
  readonly onChange?: (state: ViewState<View>) => void;
};

/** Folds events into the views of one build, and saves the changed views with the checkpoint. */
export class ViewFold<View> {
  readonly #options: FoldOptions<View>;
  #build: ViewBuild;
  #checkpoint: Checkpoint | null;
  #events: number;
  /** The least recently saved first. */
  readonly #states = new Map<string, ViewState<View>>();
  readonly #changed = new Set<ViewState<View>>();
  /** Loaded with the first event, because reading complete rows does not need the schemas of events. */
  #tryToRead: typeof tryToRead | null = null;

  constructor(options: FoldOptions<View>) {
    this.#options = options;
    this.#build = options.build;
    this.#checkpoint = options.build.checkpoint;
    this.#events = options.build.events;
  }

  get build(): ViewBuild {
    return this.#build;
  }

  /** The last applied event, saved or not. */
  get checkpoint(): Checkpoint | null {
    return this.#checkpoint;
  }

  /** How many events were applied since the last save. */
  get unsaved(): number {
    return this.#events - this.#build.events;
  }

  /** How many views they changed: what a save writes, and what stays in memory until then. */
  get unsavedViews(): number {
    return this.#changed.size;
  }

  /**
   * Applies one event; an event already applied changes nothing. Returns null if it is done, because a needless wait would cost more than
   * the fold.
   *
   * @throws {StoreUnavailableError} if its blobs or its view cannot be read now; the fold is then unusable.
   */
  take(envelope: StoredEnvelope): Promise<void> | null {
    if (changesEarlier(envelope)) return this.#refold(envelope);
    const key = keyOf(this.#options.projection, envelope);
    if (key !== null && isErased(envelope)) return this.#forget(key, envelope);
    if (key === null) {
      this.#note(envelope);
      return null;
    }
    const state = this.#states.get(key);
    const reading = state === undefined ? undefined : this.#tryToRead?.(this.#options.store, envelope);
    if (state === undefined || reading === undefined || reading instanceof Promise)
      return this.#takeSlowly(key, envelope, reading);
    takeIn(this.#options.projection, state, { envelope, reading });
    this.#hasChanged(state, envelope);
    return null;
  }

  /** The current view of a key; null if it has no events. */
  async state(key: string): Promise<ViewState<View> | null> {
    const held = this.#states.get(key);
    if (held !== undefined) return held;
    const row = await this.#options.views.row(this.#build, key);
    return row === null ? null : stateOf<View>(row);
  }

  /** Saves rows and checkpoint in one transaction; false if another process saved first, and this fold is unusable. */
  async save(): Promise<boolean> {
    const result = await this.#options.views.save(this.#build, {
      checkpoint: this.#checkpoint,
      events: this.#events,
      rows: Array.from(this.#changed, (state) => placedRow(this.#options.projection, state)),
    });
    if (result.status === "conflict") return false;
    this.#build = result.build;
    for (const state of this.#changed) {
      this.#states.delete(state.key);
      this.#states.set(state.key, state);
    }
    this.#changed.clear();
    for (const key of this.#states.keys()) {
      if (this.#states.size <= maxViewsHeld) break;
      this.#states.delete(key);
    }
    return true;
  }

  /** An erased conversation has no row. If it still has one (rows kept elsewhere), the row is emptied. */
  async #forget(key: string, envelope: StoredEnvelope): Promise<void> {
    const { projection } = this.#options;
    const state = await this.state(key);
    if (state === null) {
      this.#note(envelope);
      return;
    }
    const { position, revision, id: eventId } = envelope;
    Object.assign(state, { ...initialState(projection, key), position, revision, eventId });
    this.#states.set(key, state);
    this.#hasChanged(state, envelope);
  }

  /**
   * Views of the stream may hold words of lines that were erased, or of an event that was damaged and skipped since: they are folded again,
   * from what is left.
   */
  async #refold(envelope: StoredEnvelope): Promise<void> {
    this.#note(envelope);
    for (const key of await this.#keysIn(envelope.stream)) await this.#foldAgain(key);
  }

  /** The keys of the events of a stream, as far as they were applied. */
  async #keysIn(stream: string): Promise<ReadonlySet<string>> {
    const { store, projection } = this.#options;
    const keys = new Set<string>();
    for await (const envelope of store.readStream(stream)) {
      if (comparePositions(envelope.position, this.#checkpoint?.position ?? "") > 0) break;
      const key = keyOf(projection, envelope);
      if (key !== null) keys.add(key);
    }
    return keys;
  }

  async #foldAgain(key: string): Promise<void> {
    const { store, projection } = this.#options;
    const { foldKey } = await import("./key-fold.ts");
    const state = await foldKey({ store }, projection, { key, checkpoint: this.#checkpoint });
    if (state === null) return;
    this.#states.set(key, state);
    this.#markChanged(state);
  }

  async #takeSlowly(key: string, envelope: StoredEnvelope, begun?: Reading | Promise<Reading>): Promise<void> {
    const { store, projection } = this.#options;
    this.#tryToRead ??= (await import("../codec/recorded.ts")).tryToRead;
    const reading = await (begun ?? this.#tryToRead(store, envelope));
    const { takeNext } = await import("./key-fold.ts");
    const state = await takeNext(store, projection, { key, state: await this.state(key), envelope, reading });
    this.#states.set(key, state);
    this.#hasChanged(state, envelope);
  }

  #hasChanged(state: ViewState<View>, envelope: StoredEnvelope): void {
    this.#note(envelope);
    this.#markChanged(state);
  }

  #markChanged(state: ViewState<View>): void {
    this.#changed.add(state);
    this.#options.onChange?.(state);
  }

  #note({ position, id, stream, revision }: StoredEnvelope): void {
    this.#checkpoint = { storeId: this.#options.store.storeId, position, eventId: id, stream, revision };
    this.#events += 1;
  }
}
