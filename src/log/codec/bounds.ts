import { utf8Length } from "../../base/utf8.ts";
import {
  type Envelope,
  EventTooLargeError,
  maxAppendBytes,
  maxEventBytes,
  type PreparedAppend,
} from "../ports/event-store.ts";

/** The UTF-8 bytes of an envelope as JSON: what the bounds are about. */
export function envelopeBytes(envelope: Envelope): number {
  return utf8Length(JSON.stringify(envelope));
}

/** The UTF-8 bytes that a text takes inside a JSON document, without its quotes. */
export const escapedBytes = (text: string): number => utf8Length(JSON.stringify(text)) - 2;

/**
 * Whether an append keeps to the bounds; remembered, because both the writer that prepares and the store ask.
 *
 * @param atMost - What each event takes at most, where the writer knows: nothing is counted when that is little enough.
 */
export function isWithinBounds(prepared: PreparedAppend, atMost?: readonly number[]): boolean {
  if (prepared === lastWithin) return true;
  const { envelopes } = prepared;
  const isWithin = areWithin(atMost ?? envelopes.map(bytesAtMost)) || areWithin(envelopes.map(envelopeBytes));
  if (isWithin) lastWithin = prepared;
  return isWithin;
}

/**
 * Holds a prepared append to the bounds; every store asks before it writes.
 *
 * @throws {EventTooLargeError} for an event or a sum that is over.
 */
export function checkBounds(prepared: PreparedAppend): void {
  if (isWithinBounds(prepared)) return;
  const { stream, envelopes } = prepared;
  for (const envelope of envelopes) {
    const bytes = envelopeBytes(envelope);
    if (bytes <= maxEventBytes) continue;
    throw new EventTooLargeError(
      `event ${envelope.revision} of ${stream} has ${bytes} bytes as stored, the most is ${maxEventBytes}`,
    );
  }
  const total = sum(envelopes.map(envelopeBytes));
  throw new EventTooLargeError(`an append to ${stream} has ${total} bytes, the most is ${maxAppendBytes}`);
}

// A prepared append is never changed, so what was found holds. A store asks right after the writer: one is enough.
let lastWithin: PreparedAppend | null = null;

const areWithin = (bytes: readonly number[]): boolean =>
  sum(bytes) <= maxAppendBytes && bytes.every((size) => size <= maxEventBytes);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/**
 * An upper bound that takes a third of the time. Data is JSON text already: as a string in JSON some of its characters of one
 * byte are doubled. A UTF-16 unit takes three bytes at most.
 */
const bytesAtMost = ({ data, ...frame }: Envelope): number =>
  utf8Length(data) * 2 + JSON.stringify(frame).length * 3 + '"data":"",'.length;
