import type { CacheTrail } from "../../analysis/costs/cache-trail.ts";
import { noteLabels } from "../../analysis/descriptions/labels.ts";
import type { FoundRequest } from "../../analysis/time-travel/find-request.ts";
import { LoadedPast } from "../../analysis/time-travel/past.ts";
import { conversationStream } from "../../domain/ids.ts";
import { type Codecs, requestOf } from "../../engine/recorded/recorded-request.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { namesOf } from "../../log/codec/stream-names.ts";
import { type ChangedEvent, watchedLog } from "../../log/codec/watched-log.ts";
import { readHistory } from "../../log/history/lineage.ts";
import { noteSkip, SkippedEvents } from "../../log/history/skipped-events.ts";
import type { FoundPlace } from "../documents/found-place.ts";
import type { ShowFolds } from "../documents/show-document.ts";
import { applyToFolds, copiedFolds, type DocumentFolds, emptyFolds } from "./document-folds.ts";
import type { Reel } from "./reel.ts";

/**
 * Folds that move: a look costs the stretch from the last one, or from the nearest rung of the reel before the revision. One look at a time: the
 * folds change with the next.
 */
export class MovingFold {
  readonly #reel: Pick<Reel, "id" | "rungs" | "changedBefore">;
  readonly #watched: ReturnType<typeof watchedLog>;
  readonly #skipped: SkippedEvents;
  #folds: DocumentFolds;
  /** Of the events that the rung had read. */
  #changed: readonly ChangedEvent[] = [];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(log: EventLog, reel: Pick<Reel, "id" | "rungs" | "changedBefore" | "skipped">) {
    this.#reel = reel;
    this.#watched = watchedLog(log);
    this.#skipped = new SkippedEvents();
    for (const place of reel.skipped) this.#skipped.add(...place);
    this.#folds = emptyFolds(this.#stream);
  }

  /** Moves to an existing revision, and makes something of the folds there. */
  at<T>(revision: number, make: (place: FoundPlace, show: ShowFolds) => T | Promise<T>): Promise<T> {
    return this.#queued(async () => {
      const { words, show, view, last } = await this.#move(revision);
      const { id } = this.#reel;
      if (last === null) throw new Error(`revision ${revision} of ${id} cannot be read`);
      const names = await namesOf(this.#watched.log.store, last.stream);
      const place = { conversation: { id }, past: new LoadedPast(last, view, names), words };
      return make({ ...place, changed: [...this.#changed, ...this.#watched.changed()] }, show);
    });
  }

  /** The same at a request. */
  request<T>(
    revision: number,
    codecs: Codecs,
    make: (
      found: FoundRequest,
      about: { readonly trail: CacheTrail; readonly skipped: SkippedEvents },
    ) => T | Promise<T>,
  ): Promise<T> {
    return this.#queued(async () => {
      const { view, words, contextTurns, trail, last: recorded } = await this.#move(revision);
      if (recorded === null) throw new Error(`revision ${revision} of ${this.#reel.id} cannot be read`);
      const request = { recorded, request: requestOf(recorded), view, codecs, labels: words.labels, contextTurns };
      return make(request, { trail, skipped: this.#skipped });
    });
  }

  get #stream(): string {
    return conversationStream(this.#reel.id);
  }

  #queued<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#turn.then(work, work);
    this.#turn = next.catch(() => undefined);
    return next;
  }

  async #move(revision: number): Promise<DocumentFolds> {
    const at = this.#ownRevision();
    const rung = this.#reel.rungs.nearest(revision);
    if (rung !== null && (at > revision || at < rung.revision))
      this.#goOnFrom(copiedFolds(rung.folds), this.#reel.changedBefore);
    else if (at > revision) this.#restart();
    for (;;) {
      try {
        await this.#read(revision);
        return this.#folds;
      } catch (error) {
        const isSkipped = await noteSkip(this.#watched.log, error, this.#skipped);
        // Folds that stopped in the middle of an event are of no use.
        this.#restart();
        if (!isSkipped) throw error;
      }
    }
  }

  async #read(revision: number): Promise<void> {
    const from = this.#ownRevision() + 1;
    if (from > revision) return;
    const range = { from, to: revision, skipped: this.#skipped };
    for await (const recorded of readHistory(this.#watched.log, this.#stream, range)) {
      applyToFolds(this.#folds, recorded);
      noteLabels(this.#folds.words, recorded);
    }
  }

  #ownRevision(): number {
    const { last } = this.#folds;
    return last === null || last.stream !== this.#stream ? -1 : last.revision;
  }

  #restart(): void {
    this.#goOnFrom(emptyFolds(this.#stream), []);
  }

  #goOnFrom(folds: DocumentFolds, changed: readonly ChangedEvent[]): void {
    this.#watched.forget();
    this.#folds = folds;
    this.#changed = changed;
  }
}
