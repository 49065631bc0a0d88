import type { ConversationEventOf } from "../../domain/events/event.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import type { EventReader } from "../codec/event-log.ts";
import { readEvent } from "../codec/recorded.ts";

type Range = { readonly from: number; readonly to: number | undefined };

/** Damaged events that an operator decided to go on without (rule: Damage), by stream. */
export class SkippedEvents {
  readonly #byStream = new Map<string, ReadonlySet<number>>();

  add(stream: string, revision: number): void {
    this.#byStream.set(stream, new Set([...(this.#byStream.get(stream) ?? []), revision]));
  }

  has(stream: string, revision: number): boolean {
    return this.#byStream.get(stream)?.has(revision) === true;
  }

  /** Streams and revisions. */
  *[Symbol.iterator](): Generator<[stream: string, revision: number]> {
    for (const [stream, revisions] of this.#byStream) for (const revision of revisions) yield [stream, revision];
  }

  /** The parts of a range that lie between skipped events. */
  around(stream: string, { from, to }: Range): readonly Range[] {
    const revisions = [...(this.#byStream.get(stream) ?? [])].toSorted((left, right) => left - right);
    const ranges: Range[] = [];
    let next = from;
    for (const revision of revisions.filter((each) => each >= from && (to === undefined || each <= to))) {
      if (revision > next) ranges.push({ from: next, to: revision - 1 });
      next = revision + 1;
    }
    return to === undefined || next <= to ? [...ranges, { from: next, to }] : ranges;
  }
}

/**
 * A fold that decides. Where it finds damage at an event that was skipped, it begins anew without that event; only what is
 * damaged is ever left out, so that a skip of a sound event changes nothing.
 *
 * @throws {ConversationDamagedError} at damage that nobody skipped.
 */
export async function foldAround<T>(reader: EventReader, fold: (skipped: SkippedEvents) => Promise<T>): Promise<T> {
  const skipped = new SkippedEvents();
  for (;;) {
    try {
      return await fold(skipped);
    } catch (error) {
      if (!(error instanceof ConversationDamagedError)) throw error;
      const { stream, revision } = error;
      if (stream === null || revision === null || skipped.has(stream, revision)) throw error;
      if ((await skipsOf(reader, stream, revision)).length === 0) throw error;
      skipped.add(stream, revision);
    }
  }
}

/** That an operator skipped an event: why, and (of those who said so) what the store held of it then. */
export type RecordedSkip = Pick<ConversationEventOf<"EventSkipped">["data"], "reason" | "found">;

/** What operators said who skipped this event, in later ones; none when nobody did. */
export async function skipsOf(reader: EventReader, stream: string, revision: number): Promise<readonly RecordedSkip[]> {
  const skips: RecordedSkip[] = [];
  for await (const envelope of reader.store.readStream(stream, { from: revision + 1 })) {
    if (envelope.type !== "EventSkipped") continue;
    const { event } = await readEvent(reader.store, envelope);
    if (event.type === "EventSkipped" && event.data.revision === revision) skips.push(event.data);
  }
  return skips;
}
