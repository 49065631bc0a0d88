import type { BlameReport } from "../analysis/explain/blame-report.ts";
import type { RequestExplanation } from "../analysis/explain/explain.ts";
import type { ReasoningReport } from "../analysis/explain/reasoning-report.ts";
import type { WalkedEvent } from "../analysis/explain/walk.ts";
import { type WalkOptions, walkOptions } from "../analysis/explain/walk-options.ts";
import type { WhyOptions } from "../analysis/explain/why-options.ts";
import type { ConversationDiff } from "../analysis/time-travel/diff.ts";
import type { RequestPlace } from "../analysis/time-travel/find-request.ts";
import type { PastConversation } from "../analysis/time-travel/past.ts";
import { anything, checkSignal, kindOf, optionsOf } from "../base/options.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import type { ReadEvent, RecordedEvent } from "../domain/events/recorded.ts";
import { type ConversationId, conversationIdSchema } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import type { Codec } from "../engine/ports/codec.ts";
import type { SentRequest } from "../engine/recorded/recorded-request.ts";
import type { EventLog } from "../log/codec/event-log.ts";
import { readSoundHistory } from "../log/history/folded-history.ts";
import type { Head } from "../log/ports/event-store.ts";
import type { ConversationWriter } from "../log/writer/conversation-writer.ts";
import { follow, readAnew, readSkipped } from "../log/writer/read-conversation.ts";
import type { StoreVerifyOptions, Verification } from "../operations/audit/verify.ts";

/** The parts that reading a conversation needs. */
export type ReadingTools = {
  readonly stream: ConversationWriter;
  readonly log: EventLog;
  /** By name: rebuild recorded requests. */
  readonly codecs: ReadonlyMap<string, Codec>;
};

const diffOptions = optionsOf<DiffOptions>({ of: anything });

export type DiffOptions = { readonly of?: Pick<ReadableConversation, "id"> };

/**
 * Reads a conversation: now, at any revision, and as it happens. Reading changes nothing. Each method loads its code when it is first
 * used, because most programs use few of them.
 */
export class ReadableConversation {
  readonly id: ConversationId;
  /** The log of its store, for replays (`turnlog/replay`). */
  readonly log: EventLog;
  /** By name: rebuild recorded requests. */
  readonly codecs: ReadonlyMap<string, Codec>;
  readonly #stream: ConversationWriter;

  constructor(id: ConversationId, tools: ReadingTools) {
    this.id = id;
    this.#stream = tools.stream;
    this.log = tools.log;
    this.codecs = tools.codecs;
  }

  /**
   * The newest event's revision, and the digest of it and all events before it; null before the first append.
   *
   *     const head = await conversation.head();
   *     console.log(head?.revision, head?.digest);
   */
  head(): Promise<Head | null> {
    return this.log.store.head(this.#stream.name);
  }

  /** The Turn as it is now: that of the last ended run, and the blocks appended since. */
  async turn(): Promise<Turn> {
    await this.#stream.refresh();
    await this.#stream.readContents();
    return this.#stream.view.client.committed.frozen();
  }

  /**
   * The conversation as it was after the event of this revision; -1 is the newest.
   *
   * @throws {TurnlogError} `revision-not-found` if there is no such revision.
   */
  async at(revision: number): Promise<PastConversation> {
    const { readPast } = await import("../analysis/time-travel/past.ts");
    return readPast(this.log, this.#stream.name, { revision, codecs: this.codecs });
  }

  /**
   * Walks the conversation's own events, each with its words, what it changed of the Turn and who did, and the body of the request that
   * it records. A bad event comes with its `problem`, and the walk continues. A fork's walk does not include its ancestors' events.
   *
   *     for await (const { revision, words, changes, request } of conversation.walk())
   *       console.log(revision, words, changes?.modified.length ?? 0, request?.bodyText);
   *
   * @throws {TypeError} for a misspelt option.
   * @throws {RangeError} if `from` is after `to`.
   * @throws {TurnlogError} `revision-not-found` if `from` or `to` does not exist.
   */
  walk(options: WalkOptions = {}): AsyncIterable<WalkedEvent> {
    walkOptions.check("walk", options);
    return this.#walked(options);
  }

  async *#walked(options: WalkOptions): AsyncIterable<WalkedEvent> {
    const { walk } = await import("../analysis/explain/walk.ts");
    yield* walk(this, this.#stream.name, options);
  }

  /**
   * The request at a revision, or the one that an answer or a failure there belongs to, with its body as it was sent, byte for byte:
   * turnlog rebuilds it from the log, and compares it with the digest that was recorded before it was sent.
   *
   *     const { bodyText, sha256 } = await conversation.request(12);
   *
   * @param revision - By default the last request of all; a negative one counts from the end.
   * @throws {TurnlogError} `request-not-found` if nothing was asked there; it names the last request before.
   * @throws {TurnlogError} `revision-not-found` if there is no such revision.
   * @throws {TurnlogError} `unknown-codec` if another provider's codec wrote it: pass it in `openStore(url, { codecs })`.
   * @throws {StoreCorruptedError} if the rebuilt body is not the one that was sent: `verify` names the damage.
   */
  async request(revision?: number): Promise<SentRequest> {
    const [{ findRequest }, { sentRequest }] = await Promise.all([
      import("../analysis/time-travel/find-request.ts"),
      import("../engine/recorded/recorded-request.ts"),
    ]);
    const { view, recorded, codecs } = await findRequest(this.log, await this.#placeOf(revision, false));
    return sentRequest(view, recorded, codecs);
  }

  /**
   * Why a request was sent as it was: its strategy, every known context with the reason against it, and who broke the chain; and why it
   * read from the provider's prompt cache what it read. If nothing was asked at the revision, explains the last request before it. Without the codec of another provider's request it reports what the
   * log has, and `fullBytes` is null.
   *
   *     const { decision, brokenBy, cache } = await conversation.why();
   *     console.log(decision.strategy, brokenBy?.actor, cache.cause, cache.author);
   *
   * @param revision - By default the last request of all; a negative one counts from the end.
   * @param options - `prices`, `priceAs`: a price file for what a cache miss cost; `cacheRules`: what you know of the provider's cache;
   * `onProgress`: called while the rows of other conversations read new events.
   * @throws {TurnlogError} `request-not-found` if nothing was asked by then.
   * @throws {TurnlogError} `revision-not-found` if there is no such revision.
   * @throws {TurnlogError} `prices-unusable` if the price file cannot be used.
   * @throws {TypeError} for a misspelt option.
   */
  async why(revision?: number, options: WhyOptions = {}): Promise<RequestExplanation> {
    const [{ explainRequest }, { findRequest }, { cacheTrailReader }, { whyOptions }, { pricesOf }] = await Promise.all(
      [
        import("../analysis/explain/explain.ts"),
        import("../analysis/time-travel/find-request.ts"),
        import("../analysis/costs/cache-trail.ts"),
        import("../analysis/explain/why-options.ts"),
        import("../analysis/costs/prices.ts"),
      ],
    );
    whyOptions.check("why", options);
    const prices = await pricesOf("why", options);
    const { follow, trail } = cacheTrailReader();
    const place = await this.#placeOf(revision, true);
    const found = await findRequest(this.log, { ...place, follow });
    const { cacheRules: rules = {}, onProgress } = options;
    const progress = onProgress === undefined ? {} : { onProgress };
    return explainRequest(this.log, found, { trail: trail(), skipped: place.skipped, prices, rules, ...progress });
  }

  /**
   * What happened to each reasoning block of a request: whether its prefix was unchanged, which layer changed it, what the endpoint was
   * expected to do, and what it reported. If nothing was asked at the revision, reports the last request before it.
   *
   *     for (const { index, prefix, fate, brokenBy } of (await conversation.reasoning()).blocks)
   *       console.log(index, prefix, fate, brokenBy[0]?.actor);
   *
   * @param revision - By default the last request of all; a negative one counts from the end.
   * @throws {TurnlogError} `request-not-found` if nothing was asked by then.
   * @throws {TurnlogError} `revision-not-found` if there is no such revision.
   * @throws {TurnlogError} `unknown-codec` if another provider's codec wrote it: pass it in `openStore(url, { codecs })`.
   */
  async reasoning(revision?: number): Promise<ReasoningReport> {
    const { explainReasoning } = await import("../analysis/explain/reasoning-report.ts");
    return explainReasoning(this.log, await this.#placeOf(revision, true));
  }

  async #placeOf(revision: number | undefined, orBefore: boolean): Promise<RequestPlace> {
    const place = { stream: this.#stream.name, revision: revision ?? null, orBefore, codecs: this.codecs };
    return { ...place, skipped: await readSkipped(this.#stream) };
  }

  /**
   * What changed in the Turn between two revisions, and who changed it. While a run is open at one of them, its Turn is the one that was
   * handed on last there.
   *
   *     const { added, removed, modified } = await conversation.diff(4, -1);
   *
   * @param from - A negative one counts from the end.
   * @param options - `of`: the conversation that `to` is a revision of; by default this one.
   * @throws {TurnlogError} `revision-not-found` if one of them does not exist.
   */
  async diff(from: number, to: number, options: DiffOptions = {}): Promise<ConversationDiff> {
    diffOptions.check("diff", options);
    const of = options.of ?? this;
    const { id } = of;
    if (!conversationIdSchema.safeParse(id).success)
      throw new TypeError(`diff: of is ${kindOf(of)}: give the conversation of the second revision`);
    const { diffRevisions } = await import("../analysis/time-travel/diff.ts");
    return diffRevisions(this.log, { conversation: this.id, revision: from }, { conversation: id, revision: to });
  }

  /**
   * Who made and last changed each block of the Turn at a revision, and who removed the others.
   *
   *     for (const { block, changed } of (await conversation.blame()).blocks) console.log(block.text, changed?.actor);
   *
   * @param revision - By default the newest; a negative one counts from the end.
   * @throws {TurnlogError} `revision-not-found` if there is no such revision.
   */
  async blame(revision = -1): Promise<BlameReport> {
    const [{ blameReport }, { readWatchedPlace, turnSpokenOf }] = await Promise.all([
      import("../analysis/explain/blame-report.ts"),
      import("../analysis/time-travel/place.ts"),
    ]);
    const place = await readWatchedPlace(this.log, this.#stream.name, revision);
    turnSpokenOf(place.past).frozen();
    return blameReport(this.log, place);
  }

  /**
   * Checks the conversation, its blobs and what it inherits: hash chain, heads, schemas, both folds, and every request, whose body is
   * rebuilt. Reports damage in the result instead of throwing.
   *
   *     const { isSound, problems } = await conversation.verify();
   *
   * @param options - `savedHeads`, `onEvent`: as of the store's `verify`; heads of other conversations are ignored.
   * @throws {TypeError} for a misspelt option.
   * @throws {TurnlogError} `revision-not-found` if there is no such conversation.
   * @throws {StoreUnavailableError} if the store cannot be read, which says nothing about its contents.
   */
  async verify(options: StoreVerifyOptions = {}): Promise<Verification> {
    const { storeVerifyOptions, verification } = await import("../operations/audit/verify.ts");
    storeVerifyOptions.check("verify", options);
    if ((await this.head()) === null)
      throw new TurnlogError("revision-not-found", `there is no conversation ${this.id}: check its id`);
    return verification(this.log.store, {
      ...options,
      ...{ codecs: this.codecs, conversations: [this.id] },
    });
  }

  /**
   * The events that the conversation is read as, up to a revision: for a fork, the events of its ancestors come first, under their own
   * streams and revisions. Skipped damaged events are left out.
   */
  history(to?: number): AsyncIterable<RecordedEvent> {
    return readSoundHistory(this.log, this.#stream.name, to);
  }

  /**
   * The events of its own stream, from a revision on. An event that an operator skipped is a hole: its `event` is of the type `skipped`,
   * and says who skipped it and why.
   *
   * @throws {ConversationDamagedError} at an event that cannot be read, and was not skipped.
   */
  events(from = 0): AsyncIterable<ReadEvent> {
    return readAnew(this.#stream, from);
  }

  /**
   * The events of its own stream from a revision on, then each new one from any writer, once it is durable: use it to watch a run in
   * another process. By default only new events, and no holes. It ends when the signal aborts.
   *
   *     for await (const { event } of conversation.follow(0, AbortSignal.timeout(60_000))) console.log(event.type);
   *
   * @throws {RangeError} if `from` is not a revision.
   * @throws {TypeError} if `signal` is not a signal.
   */
  follow(from?: number, signal: AbortSignal = new AbortController().signal): AsyncIterable<ReadEvent> {
    if (from !== undefined && (!Number.isInteger(from) || from < 0))
      throw new RangeError(`follow: from is ${from}: give a revision, from 0, or leave it out for new events only`);
    checkSignal("follow: signal", signal);
    return follow(this.#stream, from, signal);
  }
}
