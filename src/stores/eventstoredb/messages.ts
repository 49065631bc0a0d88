import { StoreCorruptedError, StoreUnavailableError } from "../../log/ports/store-errors.ts";
import type { Driver } from "./client.ts";
import { failureOfAppend } from "./failure.ts";

type Streams = Driver["streams"];
export type ReadReq = InstanceType<Streams["ReadReq"]>;
export type ReadResp = InstanceType<Streams["ReadResp"]>;
export type BatchAppendReq = InstanceType<Streams["BatchAppendReq"]>;
export type BatchAppendResp = InstanceType<Streams["BatchAppendResp"]>;

export type StreamRange = {
  readonly name: string;
  /** The first revision, included in both directions; `end` is the last one. */
  readonly from: number | "end";
  readonly direction: "forwards" | "backwards";
  readonly count: number;
};

export type LogRange = {
  /** The read begins after this position; null is the beginning of the log. */
  readonly from: string | null;
  /** A regular expression for the names of streams. */
  readonly pattern: string;
};

/** An event as the server takes it: its data is the envelope's, byte for byte. */
export type EsdbMessage = {
  readonly id: string;
  readonly type: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
};

/** An event as stored in its stream on the server. */
export type EsdbEvent = EsdbMessage & {
  /** The server's name of its stream. */
  readonly name: string;
  readonly revision: number;
  /** Its position in the server's log. */
  readonly position: string;
};

/** A server's message to a reader: an event, how far it has searched, or that it has caught up. */
export type ReadMessage = {
  readonly event: EsdbEvent | null;
  readonly checkpoint: string | null;
  readonly isCaughtUp: boolean;
};

/**
 * The server's answer: the revision and position of the last event, or that the stream is at another revision, and
 * which (-1 for none). The event of that revision may be written but not readable yet.
 */
export type AppendAnswer =
  | { readonly status: "appended"; readonly revision: number; readonly position: string | null }
  | { readonly status: "wrong-expected"; readonly current: number };

/** Creates the request messages, and parses the answers to appends. */
export type Messages = ReturnType<typeof createMessages>;

export function createMessages({ streams, shared }: Pick<Driver, "streams" | "shared">) {
  const { ReadReq, BatchAppendReq } = streams;
  const { Options } = ReadReq;
  const { ReadDirection } = Options;
  const empty = new shared.Empty();
  const identifier = (name: string) => new shared.StreamIdentifier().setStreamName(encoder.encode(name));
  const options = () => new Options().setUuidOption(new Options.UUIDOption().setString(empty));
  const placeOf = (position: string) => {
    const { commit, prepare } = parsePosition(position);
    return new Options.Position().setCommitPosition(commit).setPreparePosition(prepare);
  };
  const directionOf = (direction: StreamRange["direction"]) =>
    direction === "forwards" ? ReadDirection.FORWARDS : ReadDirection.BACKWARDS;
  const oneOf = (all: InstanceType<typeof Options.AllOptions>, direction: StreamRange["direction"]): ReadReq => {
    const asked = options().setAll(all).setNoFilter(empty).setCount("1");
    return new ReadReq().setOptions(asked.setReadDirection(directionOf(direction)));
  };

  return {
    readStream({ name, from, direction, count }: StreamRange): ReadReq {
      const stream = new Options.StreamOptions().setStreamIdentifier(identifier(name));
      if (from === "end") stream.setEnd(empty);
      else stream.setRevision(String(from));
      const asked = options().setStream(stream).setNoFilter(empty).setCount(countText(count));
      return new ReadReq().setOptions(asked.setReadDirection(directionOf(direction)));
    },
    /** The newest event of the whole log. */
    endOfLog: (): ReadReq => oneOf(new Options.AllOptions().setEnd(empty), "backwards"),

    /** The event at a position of the log. */
    eventAt: (position: string): ReadReq => oneOf(new Options.AllOptions().setPosition(placeOf(position)), "forwards"),

    /**
     * The events of the log, and after its end new ones. A filtered read would stay silent until an event
     * matches. A subscription reports its position regularly, so that a long search can be resumed.
     */
    subscribe({ from, pattern }: LogRange): ReadReq {
      const all = new Options.AllOptions();
      if (from === null) all.setStart(empty);
      else all.setPosition(placeOf(from));
      const expression = new Options.FilterOptions.Expression().setRegex(pattern);
      const filter = new Options.FilterOptions().setStreamIdentifier(expression);
      filter.setMax(searchWindow).setCheckpointintervalmultiplier(1);
      return new ReadReq().setOptions(
        options().setAll(all).setFilter(filter).setSubscription(new Options.SubscriptionOptions()),
      );
    },

    /** All or nothing, and only at an explicit revision: otherwise it might be written twice. */
    append(name: string, expected: number | null, events: readonly EsdbMessage[]): BatchAppendReq {
      // Without a deadline the server's own limit for a write applies; a deadline would be compared with its clock.
      const place = new BatchAppendReq.Options().setStreamIdentifier(identifier(name));
      // The empty message has two classes with one wire form.
      // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- as above; the client does so too
      if (expected === null) place.setNoStream(empty);
      else place.setStreamPosition(String(expected));
      const messages = events.map(({ id, type, data, metadata }) => {
        const message = new BatchAppendReq.ProposedMessage().setId(new shared.UUID().setString(id));
        message.getMetadataMap().set("type", type).set("content-type", "application/json");
        return message.setData(data).setCustomMetadata(metadata);
      });
      return new BatchAppendReq().setOptions(place).setProposedMessagesList(messages).setIsFinal(true);
    },
    /** Sets the id of an append, which its answer will have. */
    correlate(request: BatchAppendReq, id: string): void {
      request.setCorrelationId(new shared.UUID().setString(id));
    },
    correlationOf: (answer: BatchAppendResp): string => answer.getCorrelationId()?.getString() ?? "",
    /** @throws {Failure} if the server rejects the append, or its outcome is unknown. */
    readAnswer: (answer: BatchAppendResp): AppendAnswer => readAnswer(answer, shared),
  };
}

const encoder = new TextEncoder();

const countText = (count: number): string => String(Math.min(count, Number.MAX_SAFE_INTEGER));

/** How many events a filter checks before it reports its position. */
const searchWindow = 4_096;

/** @throws {StoreUnavailableError} if the server returns an event without a position. */
export function readMessage(message: ReadResp): ReadMessage {
  // Links are not resolved.
  const event = message.getEvent()?.getEvent();
  const checkpoint = message.getCheckpoint();
  return {
    event: event === undefined ? null : recordedEvent(event),
    checkpoint: checkpoint === undefined ? null : positionOf(checkpoint),
    isCaughtUp: message.hasCaughtUp(),
  };
}

function recordedEvent(event: InstanceType<Streams["ReadResp"]["ReadEvent"]["RecordedEvent"]>): EsdbEvent {
  const position = positionOf(event);
  if (position === null)
    throw new StoreUnavailableError("the server does not give positions: use EventStoreDB 23.10 or newer");
  return {
    name: textOfBytes(event.getStreamIdentifier()?.getStreamName_asU8() ?? new Uint8Array()),
    revision: Number(event.getStreamRevision()),
    position,
    id: event.getId()?.getString() ?? "",
    type: event.getMetadataMap().get("type") ?? "",
    data: event.getData_asU8(),
    metadata: event.getCustomMetadata_asU8(),
  };
}

function readAnswer(answer: BatchAppendResp, { BadRequest, WrongExpectedVersion }: Driver["shared"]): AppendAnswer {
  const success = answer.getSuccess();
  if (success !== undefined) {
    const place = success.getPosition();
    const position = place === undefined ? null : positionOf(place);
    return { status: "appended", revision: Number(success.getCurrentRevision()), position };
  }
  const error = answer.getError();
  const details = error?.getDetails();
  const type = details?.getTypeName() ?? "";
  if (type === "event_store.client.WrongExpectedVersion") {
    const wrong = details?.unpack((bytes) => WrongExpectedVersion.deserializeBinary(bytes), type);
    return {
      status: "wrong-expected",
      current: wrong?.hasCurrentStreamRevision() === true ? Number(wrong.getCurrentStreamRevision()) : -1,
    };
  }
  const reason = details?.unpack((bytes) => BadRequest.deserializeBinary(bytes), "event_store.client.BadRequest");
  throw failureOfAppend(type, reason?.getMessage() ?? error?.getMessage() ?? "");
}

export const textOfBytes = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");

type Place = { readonly getCommitPosition: () => string; readonly getPreparePosition: () => string };

/**
 * The text of a position in the server's log: two 64-bit numbers, with all digits. `comparePositions` orders such
 * texts as the server orders positions. Null for 2^64 - 1, which means none: servers before 22.6 return it for events of
 * a stream, and 24.2 to 24.10.4 as the checkpoint of a subscription that has found nothing. As a position it would be
 * beyond all others.
 */
function positionOf(place: Place): string | null {
  const [commit, prepare] = [place.getCommitPosition(), place.getPreparePosition()];
  // A shorter text is a smaller number, so the second one has a fixed length.
  return commit === none || prepare === none ? null : `${commit}/${prepare.padStart(maxDigits, "0")}`;
}

const none = (2n ** 64n - 1n).toString();

/** Of 2^64 - 1. */
const maxDigits = 20;

/** @throws {StoreCorruptedError} if the text is not a position of this kind of store. */
function parsePosition(text: string): { readonly commit: string; readonly prepare: string } {
  const [, commit, prepare] = positionPattern.exec(text) ?? [];
  if (commit === undefined || prepare === undefined) {
    throw new StoreCorruptedError(`${text} is not a position of EventStoreDB: it comes from another store`);
  }
  return { commit, prepare: BigInt(prepare).toString() };
}

const positionPattern = /^(\d{1,20})\/(\d{20})$/;
