import { type CacheTrail, cacheTrailReader } from "../conversation/cache-trail.ts";
import type { FoundRequest } from "../conversation/find-request.ts";
import { LoadedPast } from "../conversation/past.ts";
import type { FoundPlace } from "../documents/found-place.ts";
import { ShowFolds } from "../documents/show-document.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { isAside } from "../domain/frame.ts";
import { type ConversationId, conversationStream } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import { type Codecs, requestOf } from "../engine/planning/recorded-request.ts";
import type { EventLog } from "../log/codec/event-log.ts";
import { namesOf } from "../log/codec/stream-names.ts";
import { watchedLog } from "../log/codec/watched-log.ts";
import type { Follower } from "../log/fold/fold.ts";
import { readHistory } from "../log/history/lineage.ts";
import { noteSkip, SkippedEvents } from "../log/history/skipped-events.ts";
import { type ConversationView, conversationView } from "../projections/conversation-view.ts";
import { type BlockLabels, noLabels, noteLabels } from "../wording/labels.ts";

/** The fold of a conversation at a revision, and what documents need besides. */
type Folded = {
  readonly view: ConversationView;
  readonly words: BlockLabels;
  readonly show: ShowFolds;
  readonly contextTurns: Map<string, Turn>;
  /** The requests so far, and how they were answered: prompt caches depend on them. */
  readonly cache: { readonly follow: Follower; readonly trail: () => CacheTrail };
  readonly skipped: SkippedEvents;
  last: RecordedEvent | null;
};

/**
 * A fold that moves: the next look costs the stretch from the last one if that was earlier, and the whole log if it was later. One look at a
 * time: the fold changes with the next.
 */
export class MovingFold {
  readonly #id: ConversationId;
  readonly #watched: ReturnType<typeof watchedLog>;
  #folded: Folded;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(log: EventLog, id: ConversationId) {
    this.#id = id;
    this.#watched = watchedLog(log);
    this.#folded = this.#fresh(new SkippedEvents());
  }

  /** Moves to an existing revision, and makes something of the fold there. */
  at<T>(revision: number, make: (place: FoundPlace, show: ShowFolds) => T | Promise<T>): Promise<T> {
    return this.#queued(async () => {
      const { words, show, view, last } = await this.#move(revision);
      if (last === null) throw new Error(`revision ${revision} of ${this.#id} cannot be read`);
      const names = await namesOf(this.#watched.log.store, last.stream);
      const place = { conversation: { id: this.#id }, past: new LoadedPast(last, view, names), words };
      return make({ ...place, changed: this.#watched.changed() }, show);
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
      const { view, words, contextTurns, cache, skipped, last: recorded } = await this.#move(revision);
      if (recorded === null) throw new Error(`revision ${revision} of ${this.#id} cannot be read`);
      const request = { recorded, request: requestOf(recorded), view, codecs, labels: words.labels, contextTurns };
      return make(request, { trail: cache.trail(), skipped });
    });
  }

  #queued<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#turn.then(work, work);
    this.#turn = next.catch(() => undefined);
    return next;
  }

  async #move(revision: number): Promise<Folded> {
    const at = this.#ownRevision();
    if (at > revision) this.#restart(this.#folded.skipped);
    for (;;) {
      try {
        await this.#read(revision);
        return this.#folded;
      } catch (error) {
        const { skipped } = this.#folded;
        const isSkipped = await noteSkip(this.#watched.log, error, skipped);
        // A fold that stopped in the middle of an event is of no use.
        this.#restart(skipped);
        if (!isSkipped) throw error;
      }
    }
  }

  async #read(revision: number): Promise<void> {
    const folded = this.#folded;
    const from = this.#ownRevision() + 1;
    if (from > revision) return;
    const range = { from, to: revision, skipped: folded.skipped };
    for await (const recorded of readHistory(this.#watched.log, conversationStream(this.#id), range)) {
      conversationView.apply(folded.view, recorded);
      noteLabels(folded.words, recorded);
      folded.show.take(recorded);
      noteContexts(folded, recorded);
      folded.cache.follow(recorded, folded.view);
      folded.last = recorded;
    }
  }

  #ownRevision(): number {
    const { last } = this.#folded;
    return last === null || last.stream !== conversationStream(this.#id) ? -1 : last.revision;
  }

  #restart(skipped: SkippedEvents): void {
    this.#watched.forget();
    this.#folded = this.#fresh(skipped);
  }

  #fresh(skipped: SkippedEvents): Folded {
    const stream = conversationStream(this.#id);
    const begun = { view: conversationView.initial(stream), words: noLabels(), show: new ShowFolds(stream) };
    const { follow, trail } = cacheTrailReader();
    return { ...begun, contextTurns: new Map(), cache: { follow: follow(), trail }, skipped, last: null };
  }
}

/** The Turns of contexts, which `why` compares. */
function noteContexts({ view, contextTurns }: Folded, { event, frame }: RecordedEvent): void {
  if (event.type !== "ResponseReceived") return;
  for (const { context, turn } of view.newest.values()) contextTurns.set(context.inferenceId, turn);
  const answered = isAside(frame) ? null : view.client.run?.turns.response(event.data.inferenceId);
  if (answered != null) contextTurns.set(event.data.inferenceId, answered);
}
