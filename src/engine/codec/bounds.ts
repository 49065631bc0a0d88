import { utf8Length } from "../../base/utf8.ts";
import {
  appendBytesMax,
  type Envelope,
  EventTooLargeError,
  eventBytesMax,
  type PreparedAppend,
} from "../event-store.ts";

/** The UTF-8 bytes of an envelope as JSON: what the bounds are about. */
export function envelopeBytes(envelope: Envelope): number {
  return utf8Length(JSON.stringify(envelope));
}

/** The UTF-8 bytes that a text takes inside a JSON document, without its quotes. */
export const escapedBytes = (text: string): number => utf8Length(JSON.stringify(text)) - 2;

/**
 * The bytes of each event: exactly, or as an upper bound that is cheap to find where neither the event nor the sum can be
 * over its bound.
 */
export function boundedBytes(envelopes: readonly Envelope[]): readonly number[] {
  const atMost = envelopes.map(bytesAtMost);
  const isSmall = sum(atMost) <= appendBytesMax && Math.max(0, ...atMost) <= eventBytesMax;
  return isSmall ? atMost : envelopes.map(envelopeBytes);
}

/**
 * Holds a prepared append to the bounds; every store asks before it writes.
 *
 * @throws {EventTooLargeError} for an event or a sum that is over.
 */
export function checkBounds({ stream, envelopes }: PreparedAppend): void {
  const bytes = boundedBytes(envelopes);
  for (const [index, size] of bytes.entries()) {
    if (size <= eventBytesMax) continue;
    const revision = envelopes[index]?.revision ?? 0;
    throw new EventTooLargeError(
      `event ${revision} of ${stream} has ${size} bytes as stored, the most is ${eventBytesMax}`,
    );
  }
  const total = sum(bytes);
  if (total > appendBytesMax) {
    throw new EventTooLargeError(`an append to ${stream} has ${total} bytes, the most is ${appendBytesMax}`);
  }
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

// In a JSON string a UTF-16 unit takes six bytes at most. Text that is JSON itself has nothing below a space left, so
// there only the characters of one byte are ever doubled.
function bytesAtMost(envelope: Envelope): number {
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
  const json = utf8Length(envelope.data) + utf8Length(JSON.stringify(envelope.actor));
  return (names + reserved) * 6 + json * 2 + frameBytesMax;
}

// Member names, punctuation, numbers and the two digests.
const frameBytesMax = 600;
