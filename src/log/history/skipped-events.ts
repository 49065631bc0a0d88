import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { RecordedEvent, SkippedBy } from "../../domain/events/recorded.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { foundDigest } from "../codec/envelope.ts";
import type { EventReader } from "../codec/event-log.ts";
import { rawEventAt } from "../codec/raw-reader.ts";
import { tryToRead } from "../codec/recorded.ts";
import type { StoredEnvelope } from "../ports/event-store.ts";

type Range = { readonly from: number; readonly to: number | undefined };

/** Damaged events that an operator decided to go on without (rule: Damage), by stream. */
export class SkippedEvents {
  /** The revision of the event that says so, by that of the one that was skipped. */
  readonly #byStream = new Map<string, Map<number, number>>();

  add(stream: string, revision: number, skippedAt: number): void {
    const known = this.#byStream.get(stream) ?? new Map<number, number>();
    this.#byStream.set(stream, known.set(revision, skippedAt));
  }

  has(stream: string, revision: number): boolean {
    return this.skippedAt(stream, revision) !== undefined;
  }

  /** The revision of the event that skipped one; undefined for one that was not skipped. */
  skippedAt(stream: string, revision: number): number | undefined {
    return this.#byStream.get(stream)?.get(revision);
  }

  *[Symbol.iterator](): Generator<[stream: string, revision: number, skippedAt: number]> {
    for (const [stream, revisions] of this.#byStream)
      for (const [revision, skippedAt] of revisions) yield [stream, revision, skippedAt];
  }

  /** The parts of a range that lie between skipped events. */
  around(stream: string, { from, to }: Range): readonly Range[] {
    const revisions = [...(this.#byStream.get(stream)?.keys() ?? [])].toSorted((left, right) => left - right);
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
      if (!(await noteSkip(reader, error, skipped))) throw error;
    }
  }
}

/** Whether what a fold failed with is damage that was skipped, and that it did not go around: from then on it does. */
export async function noteSkip(reader: EventReader, error: unknown, skipped: SkippedEvents): Promise<boolean> {
  if (!(error instanceof ConversationDamagedError)) return false;
  const { stream, revision } = error;
  if (stream === null || revision === null || skipped.has(stream, revision)) return false;
  const skip = (await skipsOf(reader, stream, revision)).at(-1);
  if (skip !== undefined) skipped.add(stream, revision, skip.skippedAt);
  return skip !== undefined;
}

/** That an operator skipped an event: who and why, and (of those who said so) what the store held of it then. */
export type RecordedSkip = SkippedBy & Pick<ConversationEventOf<"EventSkipped">["data"], "found">;

/** What operators said who skipped this event, in later ones; none when nobody did. */
export async function skipsOf(reader: EventReader, stream: string, revision: number): Promise<readonly RecordedSkip[]> {
  const skips: RecordedSkip[] = [];
  for await (const envelope of reader.store.readStream(stream, { from: revision + 1 })) {
    if (envelope.type !== "EventSkipped") continue;
    const reading = await tryToRead(reader.store, envelope);
    // One that is damaged itself skips nothing, until another one does.
    const skip = reading instanceof Error ? null : skipIn(reading);
    if (skip?.revision === revision) skips.push(skip);
  }
  return skips;
}

/** Whether an operator skipped an event as it is stored now: a change since then is nothing that anybody looked at. */
export async function isSkippedAsFound(reader: EventReader, envelope: StoredEnvelope): Promise<boolean> {
  const found = foundDigest(envelope);
  return (await skipsOf(reader, envelope.stream, envelope.revision)).some((skip) => skip.found === found);
}

/** What the event at a revision says of a skip. */
export async function skipAt(reader: EventReader, stream: string, skippedAt: number): Promise<RecordedSkip> {
  const recorded = await rawEventAt(reader, stream, skippedAt);
  const skip = recorded === null ? null : skipIn(recorded);
  if (skip === null) throw new Error(`revision ${skippedAt} of ${stream} skipped an event, and is another event now`);
  return skip;
}

function skipIn({
  event,
  actor: by,
  revision: skippedAt,
}: RecordedEvent): (RecordedSkip & { readonly revision: number }) | null {
  return event.type === "EventSkipped" ? { ...event.data, by, skippedAt } : null;
}
