import type { AppendResult, Envelope, Head, PreparedAppend } from "../ports/event-store.ts";
import { StoreCorruptedError } from "../ports/store-errors.ts";

/** The event that a store holds at one revision of an append's place. */
export type PresentEvent = { readonly id: string; readonly digest: string; readonly position: string };

/**
 * A store's result if a stream is not at the expected head: `appended` if this very append is already there, otherwise
 * a conflict.
 *
 * @param present - The stream's events from the append's first revision on: as many as the append has, or fewer.
 * @throws {StoreCorruptedError} if an id is at its revision with another digest.
 */
export function resolveHeadMismatch(
  prepared: PreparedAppend,
  actual: Head | null,
  present: readonly PresentEvent[],
): AppendResult {
  let ownCount = 0;
  for (const [index, envelope] of prepared.envelopes.entries()) {
    const there = present[index];
    if (there?.id !== envelope.id) continue;
    if (there.digest !== envelope.digest) {
      throw new StoreCorruptedError(
        `event ${envelope.id} is stored at revision ${envelope.revision} of ${prepared.stream} with another digest`,
      );
    }
    ownCount += 1;
  }
  const head = headOf(prepared.envelopes);
  const last = present.at(-1);
  const isWhole = ownCount > 0 && ownCount === prepared.envelopes.length;
  return isWhole && head !== null && last !== undefined
    ? { status: "appended", head, position: last.position }
    : { status: "conflict", actual };
}

/** Whether a stream is at the head that an append expects. */
export const isSameHead = (left: Head | null, right: Head | null): boolean =>
  left?.revision === right?.revision && left?.digest === right?.digest;

/** The revision of an append's first event. */
export const firstRevision = ({ expectedHead: expected }: PreparedAppend): number =>
  expected === null ? 0 : expected.revision + 1;

/** The head of a stream whose newest events are these envelopes. */
export function headOf(envelopes: readonly Envelope[]): Head | null {
  const last = envelopes.at(-1);
  return last === undefined ? null : { revision: last.revision, digest: last.digest };
}
