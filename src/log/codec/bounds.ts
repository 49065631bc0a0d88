import { utf8Length } from "../../base/utf8.ts";
import { maxAppendBytes, maxEventBytes } from "../ports/event-bounds.ts";
import type { Envelope, PreparedAppend } from "../ports/event-store.ts";
import { EventTooLargeError } from "../ports/store-errors.ts";

/** The UTF-8 bytes of an envelope as JSON: the size that the bounds limit. */
export function envelopeBytes(envelope: Envelope): number {
  return utf8Length(JSON.stringify(envelope));
}

/** The UTF-8 bytes that a text takes inside a JSON document, without its quotes. */
export const escapedBytes = (text: string): number => utf8Length(JSON.stringify(text)) - 2;

/**
 * Whether an append is within the bounds. The result is cached, because both the writer and the store check.
 *
 * @param atMost - An upper bound for each event's size, if the writer knows one: if it is small enough, nothing is counted.
 */
export function isWithinBounds(prepared: PreparedAppend, atMost?: readonly number[]): boolean {
  if (prepared === lastWithin) return true;
  const { envelopes } = prepared;
  const isWithin = areWithin(atMost ?? envelopes.map(bytesAtMost)) || areWithin(envelopes.map(envelopeBytes));
  if (isWithin) lastWithin = prepared;
  return isWithin;
}

/**
 * Checks the bounds of a prepared append; every store calls this before it writes.
 *
 * @throws {EventTooLargeError} if an event or the sum is over its bound.
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

// A prepared append never changes, so the result stays valid. A store checks right after the writer, so one result is enough.
let lastWithin: PreparedAppend | null = null;

const areWithin = (bytes: readonly number[]): boolean =>
  sum(bytes) <= maxAppendBytes && bytes.every((size) => size <= maxEventBytes);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/**
 * An upper bound, three times as fast to compute. Data is already JSON text: as a string in JSON, some of its one-byte characters
 * double. A UTF-16 unit takes at most three bytes.
 */
const bytesAtMost = ({ data, ...frame }: Envelope): number =>
  utf8Length(data) * 2 + JSON.stringify(frame).length * 3 + '"data":"",'.length;
