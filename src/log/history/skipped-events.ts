import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { RecordedEvent, SkippedBy } from "../../domain/events/recorded.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { foundDigest } from "../codec/envelope.ts";
import type { EventReader } from "../codec/event-log.ts";
import { rawEventAt } from "../codec/raw-reader.ts";
import { tryToRead } from "../codec/recorded.ts";
import type { StoredEnvelope } from "../ports/event-store.ts";

type Range = { readonly from: number; readonly to: number | undefined };

/** Damaged events that an operator skipped (rule: Damage), by stream. */
export class SkippedEvents {
  /** The revision of the `EventSkipped`, by the revision of the skipped event. */
  readonly #byStream = new Map<string, Map<number, number>>();

  add(stream: string, revision: number, skippedAt: number): void {
    const known = this.#byStream.get(stream) ?? new Map<number, number>();
    this.#byStream.set(stream, known.set(revision, skippedAt));
  }

  has(stream: string, revision: number): boolean {
    return this.skippedAt(stream, revision) !== undefined;
  }

  /** The revision of the event that skipped this one; undefined if it was not skipped. */
  skippedAt(stream: string, revision: number): number | undefined {
    return this.#byStream.get(stream)?.get(revision);
  }

  *[Symbol.iterator](): Generator<[stream: string, revision: number, skippedAt: number]> {
    for (const [stream, revisions] of this.#byStream)
      for (const [revision, skippedAt] of revisions) yield [stream, revision, skippedAt];
  }

  /** The parts of a range between skipped events. */
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
 * Runs a fold and decides what it leaves out. If it finds damage at a skipped event, it starts over without that event. Only damaged
 * events are ever left out, so skipping a sound event changes nothing.
 *
 * @throws {ConversationDamagedError} at damage that was not skipped.
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

/** Whether a fold failed at damage that was skipped but that it had not left out; from now on it leaves it out. */
export async function noteSkip(reader: EventReader, error: unknown, skipped: SkippedEvents): Promise<boolean> {
  if (!(error instanceof ConversationDamagedError)) return false;
  const { stream, revision } = error;
  if (stream === null || revision === null || skipped.has(stream, revision)) return false;
  const skip = (await skipsOf(reader, stream, revision)).at(-1);
  if (skip !== undefined) skipped.add(stream, revision, skip.skippedAt);
  return skip !== undefined;
}

/** The skip of an event: who and why, and (if recorded) what the store then held of it. */
export type RecordedSkip = SkippedBy & Pick<ConversationEventOf<"EventSkipped">["data"], "found">;

/** A skip, the event that it skips, and its position in the log. */
type SkipInStream = RecordedSkip & { readonly revision: number; readonly position: string };

/** The skips of this event, from later events; empty if there are none. */
export async function skipsOf(reader: EventReader, stream: string, revision: number): Promise<readonly RecordedSkip[]> {
  return (await readSkips(reader, stream, revision + 1)).filter((skip) => skip.revision === revision);
}

/** All skips that a stream records from a revision on. */
export async function readSkips(reader: EventReader, stream: string, from = 0): Promise<readonly SkipInStream[]> {
  const skips: SkipInStream[] = [];
  for await (const envelope of reader.store.readStream(stream, { from })) {
    if (envelope.type !== "EventSkipped") continue;
    const reading = await tryToRead(reader.store, envelope);
    // A damaged skip has no effect until another skip covers the same event.
    const skip = reading instanceof Error ? null : skipIn(reading);
    if (skip !== null) skips.push({ ...skip, position: envelope.position });
  }
  return skips;
}

/** Whether an operator skipped an event as it is stored now. The skip does not cover a later change. */
export async function isSkippedAsFound(reader: EventReader, envelope: StoredEnvelope): Promise<boolean> {
  const found = foundDigest(envelope);
  return (await skipsOf(reader, envelope.stream, envelope.revision)).some((skip) => skip.found === found);
}

/** The skip that the event at a revision records. */
export async function skipAt(reader: EventReader, stream: string, skippedAt: number): Promise<RecordedSkip> {
  const recorded = await rawEventAt(reader, stream, skippedAt);
  const skip = recorded === null ? null : skipIn(recorded);
  if (skip === null) throw new Error(`revision ${skippedAt} of ${stream} skipped an event, and is another event now`);
  return skip;
}

/** The skip that an event records; null if it records none. */
function skipIn({
  event,
  actor: by,
  revision: skippedAt,
}: RecordedEvent): (RecordedSkip & { readonly revision: number }) | null {
  return event.type === "EventSkipped" ? { ...event.data, by, skippedAt } : null;
}
