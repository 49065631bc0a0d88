import type { JsonObject } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import { blobBytesMin } from "../../domain/essence.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import { maxAppendBytes, maxEventBytes } from "../ports/event-bounds.ts";
import type { Envelope, Head, PreparedAppend } from "../ports/event-store.ts";
import { nameGiven, withoutName } from "./actor-line.ts";
import { checkBounds, envelopeBytes, isWithinBounds } from "./bounds.ts";
import { type BlobText, type DataWriter, encodeData, lineWriter } from "./data.ts";
import { chainText, dataDigestOf, firstPrevious } from "./envelope.ts";
import { headOf } from "./idempotent-append.ts";
import type { EventIds } from "./ids.ts";

/** A proposed event whose content does not matter to this layer. */
export type NewEvent<Event extends AnyEvent = AnyEvent> = Omit<ProposedEvent, "event"> & { readonly event: Event };

export type AnyEvent = {
  readonly type: string;
  readonly version: number;
  /** May contain `SecretReference`s, and `BlobReference`s from earlier reads. */
  readonly data: JsonObject;
};

export type PrepareOptions = {
  readonly stream: string;
  /** The head after which the events follow. */
  readonly head: Head | null;
  /** The `at` of the head's event: time never goes back in a stream. */
  readonly lastAt: string | null;
  readonly events: readonly NewEvent[];
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly newEventId: EventIds;
  /** Writes the events as lines. Default: as `json`. A stream has one encoding. */
  readonly lines?: LineSources;
};

export type LineSources = {
  /** Of the conversation; null if no event has anything to name (`mayName`). */
  readonly names: BlockNames | null;
  /** 128 random bits as 22 characters of base64url, for each line. */
  readonly newSalt?: (() => string) | undefined;
};

export type Preparation = {
  /** One append, or several in order if one would be too big: the last of them then has only the last event. */
  readonly appends: readonly PreparedAppend[];
  /** Must be durable before the first append. */
  readonly blobs: readonly BlobText[];
};

/**
 * Assigns ids, times, places and digests to events that follow a head.
 *
 * @throws {EventTooLargeError} if an event is over its bound even without its long strings.
 */
export function prepareAppend(options: PrepareOptions): Preparation {
  const { stream, head, events, newEventId, lines } = options;
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
    const sealed = sealEvent(event, { id: newEventId(), stream, revision, at, previous, lines });
    envelopes.push(sealed.envelope);
    bytesAtMost.push(sealed.bytesAtMost);
    if (sealed.blobs.length > 0) blobs.push(...sealed.blobs);
    previous = sealed.envelope.digest;
    revision += 1;
  }
  return { appends: splitAppend({ stream, expectedHead: head, envelopes }, bytesAtMost), blobs };
}

/** For each event: now, or its own or a later event's known time if that is earlier. */
function latestTimes(events: readonly NewEvent[], now: string): readonly string[] {
  const times: string[] = [];
  let latest = now;
  for (const { at } of events.toReversed()) {
    if (at !== undefined && isoTime(at) < latest) latest = isoTime(at);
    times.push(latest);
  }
  return times.reverse();
}

type EnvelopePlace = Pick<Envelope, "id" | "stream" | "revision" | "at"> & {
  readonly previous: string;
  readonly lines: LineSources | undefined;
};

type SealedEvent = {
  readonly envelope: Envelope;
  readonly blobs: readonly BlobText[];
  /** An upper bound of what `envelopeBytes` counts. */
  readonly bytesAtMost: number;
};

// Runs for every event, so it creates few objects and spreads nothing.
function sealEvent(proposed: NewEvent, place: EnvelopePlace): SealedEvent {
  const { event, actor, runId, frame } = proposed;
  const { lines } = place;
  const envelope: { -readonly [Member in keyof Envelope]: Envelope[Member] } = {
    id: place.id,
    stream: place.stream,
    revision: place.revision,
    type: event.type,
    version: event.version,
    at: place.at,
    actor: lines === undefined ? actor : withoutName(actor, namesFor(lines)),
    encoding: lines === undefined ? "json" : "lines",
    data: "",
    dataDigest: placeholder,
    digest: placeholder,
  };
  if (runId !== undefined) envelope.runId = runId;
  if (frame !== undefined) envelope.frame = frame;
  const writer = lines === undefined ? undefined : writerOf(proposed, lines);
  const { text, blobs } = encodeData(event.data, () => maxEventBytes - envelopeBytes(envelope), writer);
  envelope.data = text;
  envelope.dataDigest = dataDigestOf(envelope);
  const chained = chainText(place.previous, envelope);
  envelope.digest = sha256Hex(chained);
  // The hashed text is JSON of all members but data and digest, plus more than a digest. A UTF-16 unit takes at most three bytes, also
  // when the data, which is already JSON text, becomes a string in JSON.
  return { envelope, blobs, bytesAtMost: (chained.length + text.length) * 3 };
}

const writerOf = ({ event, actor }: NewEvent, lines: LineSources): DataWriter =>
  lineWriter(event, {
    idOf: (sha256) => namesFor(lines)().idOfBlob(sha256),
    newSalt: lines.newSalt,
    actorName: nameGiven(actor),
  });

const namesFor =
  ({ names }: LineSources) =>
  (): BlockNames => {
    if (names === null) throw new Error("an event names a person or a long text, and no names were given");
    return names;
  };

/** Whether an event in lines may need names of its conversation: for a person's alias, or for long texts. Blobs are only made of longer data. */
export function mayName({ event, actor }: NewEvent): boolean {
  if (nameGiven(actor) !== null) return true;
  try {
    return JSON.stringify(event.data).length * 3 > blobBytesMin;
  } catch {
    // Preparing the event says what is wrong with it.
    return true;
  }
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

// An append formats the current time. The part down to the second takes longest, and appends share it.
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
