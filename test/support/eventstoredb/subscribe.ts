import { randomUUID } from "node:crypto";
import type { EventFilter } from "./event-filter.ts";
import type { StoredEvent } from "./event-log.ts";
import { CallError } from "./failures.ts";
import type { NodeContext } from "./node-context.ts";
import type { Position, ReadSender } from "./read-sender.ts";
import { firstWhere, PAGE_SIZE, visibleStream } from "./visible-events.ts";

/** Live events that wait for a slow reader; with more, the server goes back to catching up, and says `caughtUp` again. */
const LIVE_EVENTS_MAX = 32;

interface Watch {
  /** Settles when the log may have grown since the last call. */
  next(): Promise<void>;
  stop(): void;
}

function watch(node: NodeContext): Watch {
  let change = Promise.withResolvers<undefined>();
  const stop = node.onChange(() => {
    change.resolve(undefined);
    change = Promise.withResolvers<undefined>();
  });
  return { next: () => change.promise, stop };
}

interface StreamSubscription {
  readonly node: NodeContext;
  readonly sender: ReadSender;
  readonly stream: string;
  /** Exclusive. */
  readonly from: "start" | "end" | bigint;
}

/** Follows one stream, which need not exist yet, until the reader goes or the stream is tombstoned. */
export async function subscribeToStream({ node, sender, stream, from }: StreamSubscription): Promise<void> {
  const grown = watch(node);
  try {
    if (visibleStream(node.log, stream, node.limit()).status === "deleted")
      throw new CallError({ kind: "deleted", stream });
    await sender.confirmation(randomUUID());
    const known = (): readonly StoredEvent[] => node.log.stream(stream);
    const end = (): number => firstWhere(known(), ({ index }) => index >= node.limit());
    let checkpoint = from === "start" ? -1n : from === "end" ? (known()[end() - 1]?.revision ?? -1n) : from;
    let isLive = false;
    for (;;) {
      const changed = grown.next();
      const waiting = known().slice(
        firstWhere(known(), ({ revision }) => revision > checkpoint),
        end(),
      );
      if (waiting.length > LIVE_EVENTS_MAX) isLive = false;
      // Truncated events are left out while catching up; what is live was just written.
      if (!isLive) sender.page();
      const page = isLive ? waiting : shown(node, stream, waiting).slice(0, PAGE_SIZE);
      for (const event of page) {
        await sender.event(event);
        checkpoint = event.revision;
        if (event.type === "$streamDeleted") throw new CallError({ kind: "deleted", stream });
      }
      if (page.length > 0) continue;
      // What was hidden from catching up stays hidden.
      checkpoint = waiting.at(-1)?.revision ?? checkpoint;
      if (!isLive) await sender.caughtUp();
      isLive = true;
      await sender.orGone(changed);
    }
  } finally {
    grown.stop();
  }
}

function shown(node: NodeContext, stream: string, events: readonly StoredEvent[]): readonly StoredEvent[] {
  const view = visibleStream(node.log, stream, node.limit());
  if (view.status === "deleted") throw new CallError({ kind: "deleted", stream });
  if (view.status === "missing") return [];
  const oldest = view.events[view.first];
  return oldest === undefined ? [] : events.filter(({ revision }) => revision >= oldest.revision);
}

interface AllSubscription {
  readonly node: NodeContext;
  readonly sender: ReadSender;
  /** Exclusive. */
  readonly from: "start" | "end" | Position;
  readonly filter: EventFilter | null;
}

/** A position inside the log has to be where a record begins; one beyond its end is no error, and waited for in silence. */
export function isBetweenRecords({ log }: NodeContext, from: AllSubscription["from"]): boolean {
  if (typeof from === "string" || (from.commit === 0n && from.prepare === 0n)) return false;
  const record = log.records[firstWhere(log.records, ({ position }) => position >= from.commit)];
  return record?.position !== from.commit && from.commit < (log.records.at(-1)?.end ?? 0n);
}

/**
 * Follows the whole log until the reader goes. Only a filtered subscription tells checkpoints. What comes is not given
 * while it lies before the position, which it does where that is beyond the end.
 */
export async function subscribeToAll({ node, sender, from, filter }: AllSubscription): Promise<void> {
  const grown = watch(node);
  try {
    await sender.confirmation(randomUUID());
    if (isBetweenRecords(node, from)) throw new CallError({ kind: "invalid-position", operation: "subscribe" });
    const isGiven = given(from, filter);
    const begin = from === "start" ? 0 : from === "end" ? node.limit() : firstWhere(node.log.records, isAfter(from));
    const { checkpointBeyondEnd, endsSlowConsumers } = node.unkindness;
    const options = { filter, isGiven, from: typeof from === "string" ? null : from, checkpointBeyondEnd };
    const progress = new Progress(sender, options);
    let cursor = begin;
    let isLive = cursor >= node.limit();
    if (isLive) await sender.caughtUp();
    for (;;) {
      const changed = grown.next();
      if (node.limit() - cursor > LIVE_EVENTS_MAX && isLive) {
        if (endsSlowConsumers) throw new CallError({ kind: "too-slow" });
        isLive = false;
        await progress.fallBehind();
      }
      if (isLive) {
        for (; cursor < node.limit(); cursor += 1) await progress.live(node.log.records[cursor]);
        await sender.orGone(changed);
        continue;
      }
      sender.page();
      const page = pageOf(node, cursor, { isGiven, window: filter?.window ?? PAGE_SIZE });
      await sender.search(page.end - cursor - page.events.length);
      await progress.page(page.events, { considered: page.end - cursor, isLast: page.end >= node.limit() });
      progress.next(node.log.records[page.end - 1]);
      cursor = page.end;
      if (cursor < node.limit()) continue;
      await sender.caughtUp();
      isLive = true;
    }
  } finally {
    grown.stop();
  }
}

/** Which events a subscription gives: those that match, and lie behind its position. */
function given(from: AllSubscription["from"], filter: EventFilter | null): (event: StoredEvent) => boolean {
  const follows = typeof from === "string" ? () => true : isAfter(from);
  return (event) => follows(event) && (filter === null || filter.matches(event));
}

const isAfter =
  ({ commit, prepare }: Position) =>
  ({ position }: StoredEvent): boolean =>
    position > commit || (position === commit && position > prepare);

function pageOf(
  node: NodeContext,
  start: number,
  { isGiven, window }: Pick<ProgressOptions, "isGiven"> & { readonly window: number },
) {
  const events: StoredEvent[] = [];
  let end = start;
  while (end < node.limit() && end - start < window && events.length < PAGE_SIZE) {
    const event = node.log.records[end];
    if (event !== undefined && isGiven(event)) events.push(event);
    end += 1;
  }
  return { events, end };
}

interface ProgressOptions {
  readonly filter: EventFilter | null;
  readonly isGiven: (event: StoredEvent) => boolean;
  readonly from: Position | null;
  readonly checkpointBeyondEnd: boolean;
}

/** What (-1, -1) becomes on the wire. */
const beyondEnd: Position = { commit: 2n ** 64n - 1n, prepare: 2n ** 64n - 1n };

/**
 * Checkpoints as the server counts them: every so many events looked at, and when it has caught up. While catching up,
 * a checkpoint is the last event sent or the place where the page began, whichever is later: it may lie up to one page
 * behind what was looked at, and need not be the position of an event.
 */
class Progress {
  readonly #sender: ReadSender;
  readonly #filter: EventFilter | null;
  readonly #isGiven: ProgressOptions["isGiven"];
  #checkpoint: Position | null;
  #pageStart: Position | null;
  #told: Position | null = null;
  #considered = 0;
  /** Whether nothing but the beginning was told or given: then some versions know no checkpoint at the end, and say so. */
  #isBlank: boolean;

  constructor(sender: ReadSender, { filter, isGiven, from, checkpointBeyondEnd }: ProgressOptions) {
    this.#sender = sender;
    this.#filter = filter;
    this.#isGiven = isGiven;
    this.#checkpoint = from;
    this.#pageStart = from;
    this.#isBlank = checkpointBeyondEnd && from === null;
  }

  async page(
    events: readonly StoredEvent[],
    page: { readonly considered: number; readonly isLast: boolean },
  ): Promise<void> {
    for (const event of events) await this.#send(event);
    this.#considered += page.considered;
    this.#checkpoint = later(this.#checkpoint, this.#pageStart);
    const every = this.#filter?.checkpointEvery ?? Number.POSITIVE_INFINITY;
    if (page.isLast && this.#isBlank && this.#filter !== null) {
      this.#considered = 0;
      return this.#sender.checkpoint(beyondEnd);
    }
    if (page.isLast) this.#considered = 0;
    else if (this.#considered < every) return;
    else this.#considered %= every;
    await this.#tell(this.#checkpoint);
  }

  /** The next page begins behind this record. */
  next(last: StoredEvent | undefined): void {
    if (last !== undefined) this.#pageStart = { commit: last.end, prepare: 0n };
  }

  async live(event: StoredEvent | undefined): Promise<void> {
    if (event === undefined) return;
    if (this.#isGiven(event)) await this.#send(event);
    this.#considered += 1;
    if (this.#filter === null || this.#considered < this.#filter.checkpointEvery) return;
    this.#considered = 0;
    this.#checkpoint = { commit: event.position, prepare: event.position };
    await this.#tell(this.#checkpoint);
  }

  async fallBehind(): Promise<void> {
    this.#considered = 0;
    this.#pageStart = this.#checkpoint;
    await this.#tell(this.#checkpoint);
  }

  async #send(event: StoredEvent): Promise<void> {
    await this.#sender.event(event);
    this.#isBlank = false;
    this.#checkpoint = { commit: event.position, prepare: event.position };
  }

  async #tell(checkpoint: Position | null): Promise<void> {
    if (this.#filter === null || checkpoint === null || later(this.#told, checkpoint) === this.#told) return;
    this.#told = checkpoint;
    this.#isBlank = false;
    await this.#sender.checkpoint(checkpoint);
  }
}

/** The later of two positions; the first where they are equal. */
function later(one: Position | null, other: Position | null): Position | null {
  if (one === null) return other;
  if (other === null) return one;
  const isLater = other.commit > one.commit || (other.commit === one.commit && other.prepare > one.prepare);
  return isLater ? other : one;
}
