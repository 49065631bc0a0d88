import { type ServerWritableStream, status } from "@grpc/grpc-js";
import { type EventFilter, eventFilter } from "./event-filter.ts";
import type { StoredEvent } from "./event-log.ts";
import { CallError, type Failure } from "./failures.ts";
import { admit, type NodeContext } from "./node-context.ts";
import { streamName } from "./proposed.ts";
import { streams } from "./protocol.ts";
import { type Position, type ReadRequest, type ReadResponse, ReadSender } from "./read-sender.ts";
import { isBetweenRecords, subscribeToAll, subscribeToStream } from "./subscribe.ts";
import { firstWhere, PAGE_SIZE, visibleStream } from "./visible-events.ts";

/** Where a request begins. */
type From<T> = "start" | "end" | T;

/** `Streams/Read`: reads and subscriptions, of one stream and of `$all`. */
export function serveRead(node: NodeContext, call: ServerWritableStream<ReadRequest, ReadResponse>): void {
  const options = call.request.getOptions();
  const ofStream = options?.getStream();
  const operation = options?.hasSubscription() === true ? "subscribe" : "read";
  const stream = ofStream === undefined ? "$all" : streamName(ofStream.getStreamIdentifier());
  const sender = new ReadSender(node, call, { operation, stream });
  const serve = async (): Promise<void> => {
    admit(node, call.metadata, { operation, stream });
    await sender.begin();
    const count = BigInt(options?.getCount() ?? "0");
    const isBackwards = options?.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS;
    if (ofStream !== undefined) {
      if (stream === "") throw new CallError({ kind: "bad-request", message: "stream name is empty" });
      const isFromEnd = ofStream.hasEnd() && !isBackwards;
      if (operation === "read" && (count === 0n || isFromEnd)) throw new CallError({ kind: "bad-read" });
      const from = ofStream.hasRevision() ? BigInt(ofStream.getRevision()) : ofStream.hasEnd() ? "end" : "start";
      if (operation === "subscribe") return subscribeToStream({ node, sender, stream, from });
      return readStream({ node, sender, stream, from, count, isBackwards });
    }
    const all = options?.getAll();
    const place = all?.getPosition();
    const position = place && {
      commit: BigInt(place.getCommitPosition()),
      prepare: BigInt(place.getPreparePosition()),
    };
    const from = position ?? (all?.hasEnd() === true ? "end" : "start");
    if (position !== undefined && position.commit < position.prepare) throw new CallError(badPosition);
    const filter = eventFilter(options?.getFilter());
    if (filter?.window === 0) throw new CallError(noWindow);
    if (operation === "subscribe") return subscribeToAll({ node, sender, from, filter });
    if (isBetweenRecords(node, from)) throw new CallError({ kind: "invalid-position", operation });
    // Of nothing nothing is said, and the call is not ended.
    if (count === 0n) return sender.silence();
    return readAll({ node, sender, from, count, isBackwards, filter });
  };
  serve().then(
    () => sender.end(),
    (error: unknown) => sender.fail(error),
  );
}

const badPosition: Failure = {
  kind: "status",
  code: status.UNKNOWN,
  details:
    "Exception was thrown by handler. ArgumentOutOfRangeException: The commit position cannot be less than the prepare position",
};
const noWindow: Failure = {
  kind: "status",
  code: status.UNKNOWN,
  details: "Exception was thrown by handler. InvalidOperationException: the filter has no window",
};

interface StreamRead {
  readonly node: NodeContext;
  readonly sender: ReadSender;
  readonly stream: string;
  /** Inclusive in both directions. */
  readonly from: From<bigint>;
  readonly count: bigint;
  readonly isBackwards: boolean;
}

async function readStream({ node, sender, stream, from, count, isBackwards }: StreamRead): Promise<void> {
  let next = from;
  for (let remaining = count; remaining > 0n; ) {
    sender.page();
    const view = visibleStream(node.log, stream, node.limit());
    if (view.status === "deleted") throw new CallError({ kind: "deleted", stream });
    if (view.status === "missing") return sender.streamNotFound(stream);
    const page = (isBackwards ? pageBackwards : pageForwards)(view, next, remaining);
    for (const event of page) await sender.event(event);
    const last = page.at(-1);
    if (last === undefined) return;
    remaining -= BigInt(page.length);
    next = isBackwards ? last.revision - 1n : last.revision + 1n;
  }
}

interface Readable {
  readonly events: readonly StoredEvent[];
  readonly first: number;
  readonly last: number;
}

const pageLength = (remaining: bigint): number => Number(remaining < BigInt(PAGE_SIZE) ? remaining : BigInt(PAGE_SIZE));

function pageForwards(
  { events, first, last }: Readable,
  from: From<bigint>,
  remaining: bigint,
): readonly StoredEvent[] {
  if (from === "end") return [];
  const start =
    from === "start"
      ? first
      : Math.max(
          first,
          firstWhere(events, ({ revision }) => revision >= from),
        );
  return events.slice(start, Math.min(start + pageLength(remaining), last + 1));
}

function pageBackwards(
  { events, first, last }: Readable,
  from: From<bigint>,
  remaining: bigint,
): readonly StoredEvent[] {
  const wanted = from === "start" ? 0n : from;
  const after = wanted === "end" ? last + 1 : firstWhere(events, ({ revision }) => revision > wanted);
  const end = Math.min(after, last + 1);
  return events.slice(Math.max(first, end - pageLength(remaining)), Math.max(first, end)).reverse();
}

interface AllRead {
  readonly node: NodeContext;
  readonly sender: ReadSender;
  /** Forwards inclusive, backwards exclusive. */
  readonly from: From<Position>;
  readonly count: bigint;
  readonly isBackwards: boolean;
  readonly filter: EventFilter | null;
}

async function readAll({ node, sender, from, count, isBackwards, filter }: AllRead): Promise<void> {
  const { records } = node.log;
  const startForwards = from === "start" ? 0 : from === "end" ? node.limit() : firstWhere(records, atOrAfter(from));
  const startBackwards = from === "start" ? 0 : from === "end" ? node.limit() : startForwards;
  const step = isBackwards ? -1 : 1;
  let index = isBackwards ? Math.min(startBackwards, node.limit()) - 1 : startForwards;
  for (let remaining = count, looked = 1; remaining > 0n && index >= 0 && index < node.limit(); index += step) {
    if (looked % PAGE_SIZE === 0) {
      sender.page();
      await sender.search(PAGE_SIZE);
    }
    looked += 1;
    const event = node.log.records[index];
    if (event === undefined) return;
    if (filter !== null && !filter.matches(event)) continue;
    await sender.event(event);
    remaining -= 1n;
  }
}

/** An event's commit and prepare position are one number. */
const atOrAfter =
  ({ commit, prepare }: Position) =>
  ({ position }: StoredEvent): boolean =>
    position > commit || (position === commit && position >= prepare);
