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

/** Whether an append keeps to the bounds; remembered, because whoever prepares asks, and then the store. */
export function isWithinBounds(prepared: PreparedAppend): boolean {
  if (withinBounds.has(prepared)) return true;
  const isWithin = isSurelyWithin(prepared) || isExactlyWithin(prepared.envelopes.map(envelopeBytes));
  if (isWithin) withinBounds.add(prepared);
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

// A prepared append is never changed, so what was found holds.
const withinBounds = new WeakSet<PreparedAppend>();

const isExactlyWithin = (bytes: readonly number[]): boolean =>
  sum(bytes) <= maxAppendBytes && bytes.every((size) => size <= maxEventBytes);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** By upper bounds that are cheap to find, the one that counts no bytes first. */
const isSurelyWithin = ({ envelopes }: PreparedAppend): boolean =>
  staysWithin(envelopes, ({ data }) => data.length * maxUnitBytes) ||
  staysWithin(envelopes, ({ data }) => utf8Length(data) * 2);

function staysWithin(envelopes: readonly Envelope[], dataBytesAtMost: (envelope: Envelope) => number): boolean {
  let total = 0;
  for (const envelope of envelopes) total += dataBytesAtMost(envelope);
  if (total > maxAppendBytes) return false;
  total = 0;
  for (const envelope of envelopes) {
    const bytes = frameBytesAtMost(envelope) + dataBytesAtMost(envelope);
    if (bytes > maxEventBytes) return false;
    total += bytes;
  }
  return total <= maxAppendBytes;
}

// In a JSON string a UTF-16 unit takes six bytes at most. Text that is JSON itself has nothing below a space left, so
// there only the characters of one byte are ever doubled.
const maxUnitBytes = 6;

/** What the envelope takes without its data. */
function frameBytesAtMost(envelope: Envelope): number {
  const {
    id,
    stream,
    type,
    at,
    runId = "",
    frame = "",
    causationId = "",
    tenant = "",
    keyId = "",
    nonce = "",
  } = envelope;
  const names = id.length + stream.length + type.length + at.length + runId.length + frame.length + causationId.length;
  const reserved = tenant.length + keyId.length + nonce.length;
  // The actor is JSON within JSON no more: as it is, in three bytes a unit.
  return (names + reserved) * maxUnitBytes + JSON.stringify(envelope.actor).length * 3 + maxMemberBytes;
}

// Member names, punctuation, numbers and the two digests.
const maxMemberBytes = 600;
