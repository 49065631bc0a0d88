import type { JsonObject } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import { type Envelope, type Head, maxAppendBytes, maxEventBytes, type PreparedAppend } from "../ports/event-store.ts";
import { checkBounds, envelopeBytes, isWithinBounds } from "./bounds.ts";
import { type BlobText, encodeData } from "./data.ts";
import { chainText, firstPrevious } from "./envelope.ts";
import type { EventIds } from "./ids.ts";

/** A proposed event whose content this layer does not look at. */
export type NewEvent<Event extends AnyEvent = AnyEvent> = Omit<ProposedEvent, "event"> & { readonly event: Event };

export type AnyEvent = {
  readonly type: string;
  readonly version: number;
  /** May hold `BlobReference`s that were read before and `SecretReference`s. */
  readonly data: JsonObject;
};

export type PrepareOptions = {
  readonly stream: string;
  /** The head that the events are to follow. */
  readonly head: Head | null;
  /** The `at` of the head's event: time never runs backwards in a stream. */
  readonly lastAt: string | null;
  readonly events: readonly NewEvent[];
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly newEventId: EventIds;
};

export type Preparation = {
  /** One append, or several in order where one would be too big: the last event then stands in the last one, alone. */
  readonly appends: readonly PreparedAppend[];
  /** To be durable before the first append. */
  readonly blobs: readonly BlobText[];
};

/**
 * Fixes ids, time, place and digests of events that are to follow a head.
 *
 * @throws {EventTooLargeError} for an event that is over its bound without its long strings.
 */
export function prepareAppend(options: PrepareOptions): Preparation {
  const { stream, head, events, newEventId } = options;
  const now = isoTime(options.clock());
  const latest = events.some((event) => event.at !== undefined) ? latestTimes(events, now) : [];
  let at = options.lastAt ?? latest[0] ?? now;
  const envelopes: Envelope[] = [];
  const bytesAtMost: number[] = [];
  const blobs: BlobText[] = [];
  let previous = head?.digest ?? firstPrevious(stream);
  let revision = head === null ? 0 : head.revision + 1;
  for (const [index, event] of events.entries()) {
    at = event.at === undefined ? later(at, latest[index] ?? now) : isoTime(event.at);
    const sealed = sealEvent(event, { id: newEventId(), stream, revision, at, previous });
    envelopes.push(sealed.envelope);
    bytesAtMost.push(sealed.bytesAtMost);
    if (sealed.blobs.length > 0) blobs.push(...sealed.blobs);
    previous = sealed.envelope.digest;
    revision += 1;
  }
  return { appends: splitAppend({ stream, expectedHead: head, envelopes }, bytesAtMost), blobs };
}

/** Now, or when what comes after an event is known to have happened. */
function latestTimes(events: readonly NewEvent[], now: string): readonly string[] {
  const times: string[] = [];
  let latest = now;
  for (const { at } of events.toReversed()) {
    if (at !== undefined && isoTime(at) < latest) latest = isoTime(at);
    times.push(latest);
  }
  return times.reverse();
}

type EnvelopePlace = Pick<Envelope, "id" | "stream" | "revision" | "at"> & { readonly previous: string };

type SealedEvent = {
  readonly envelope: Envelope;
  readonly blobs: readonly BlobText[];
  /** What `envelopeBytes` would count, or more. */
  readonly bytesAtMost: number;
};

// Runs for every event, so it makes few objects and spreads nothing.
function sealEvent(proposed: NewEvent, place: EnvelopePlace): SealedEvent {
  const { event, actor, runId, frame } = proposed;
  const envelope: { -readonly [Member in keyof Envelope]: Envelope[Member] } = {
    id: place.id,
    stream: place.stream,
    revision: place.revision,
    type: event.type,
    version: event.version,
    at: place.at,
    actor,
    encoding: "json",
    data: "",
    dataDigest: placeholder,
    digest: placeholder,
  };
  if (runId !== undefined) envelope.runId = runId;
  if (frame !== undefined) envelope.frame = frame;
  const { text, blobs } = encodeData(event.data, () => maxEventBytes - envelopeBytes(envelope));
  envelope.data = text;
  envelope.dataDigest = sha256Hex(text);
  const chained = chainText(place.previous, envelope);
  envelope.digest = sha256Hex(chained);
  // What is hashed is JSON of all members but data and digest, and longer than a digest besides. No UTF-16 unit takes more
  // than three bytes, also where the data, which is JSON text already, is a string in JSON.
  return { envelope, blobs, bytesAtMost: (chained.length + text.length) * 3 };
}

// As long as a digest is.
const placeholder = "0".repeat(64);

function splitAppend(whole: PreparedAppend, bytesAtMost: readonly number[]): readonly PreparedAppend[] {
  if (isWithinBounds(whole, bytesAtMost)) return [whole];
  const bytes = whole.envelopes.map(envelopeBytes);
  const lastIndex = whole.envelopes.length - 1;
  const parts: Envelope[][] = [];
  let room = 0;
  for (const [index, envelope] of whole.envelopes.entries()) {
    const size = bytes[index] ?? 0;
    const part = parts.at(-1);
    if (part === undefined || size > room || index === lastIndex) {
      parts.push([envelope]);
      room = maxAppendBytes - size;
    } else {
      part.push(envelope);
      room -= size;
    }
  }
  let expectedHead = whole.expectedHead;
  return parts.map((envelopes) => {
    const part = { stream: whole.stream, expectedHead, envelopes };
    checkBounds(part);
    expectedHead = headOf(envelopes) ?? expectedHead;
    return part;
  });
}

/** The head that a stream has once these envelopes are its newest. */
export function headOf(envelopes: readonly Envelope[]): Head | null {
  const last = envelopes.at(-1);
  return last === undefined ? null : { revision: last.revision, digest: last.digest };
}

// An append formats the time of now, and what it shares with the append before, down to the second, takes longest.
let formattedSecond = Number.NaN;
let secondText = "";

/** As `Date.prototype.toISOString`. */
function isoTime(time: number): string {
  const ms = Math.trunc(time);
  const second = Math.floor(ms / 1_000);
  if (second !== formattedSecond) {
    secondText = new Date(ms).toISOString().slice(0, -"000Z".length);
    formattedSecond = second;
  }
  return `${secondText}${String(ms - second * 1_000).padStart(3, "0")}Z`;
}

const later = (left: string, right: string): string => (left > right ? left : right);
