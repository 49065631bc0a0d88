import {
  comparePositions,
  type EventStore,
  type Head,
  type OrphanEvents,
  type ReadLogOptions,
  type ReadStreamOptions,
  type StoredEnvelope,
} from "../../log/ports/event-store.ts";
import { StoreCorruptedError, StoreUnavailableError } from "../../log/ports/store-errors.ts";
import { createEnvelopes, type EventRow } from "../sqlite/rows.ts";
import { realTime } from "../time.ts";
import type { Database, Trying } from "./database.ts";
import type { Seen } from "./seen.ts";

/** A page of the log: the events with the prefix, and how far it was read. */
type LogPage = {
  readonly events: readonly StoredEnvelope[];
  /** The position of the last event in the page, with the prefix or not; null if the page is empty. */
  readonly last: string | null;
  /** Whether there may be more up to the horizon. */
  readonly isFull: boolean;
};

/** Nothing can still appear up to the horizon. `newest` is the last event up to it, or 0. */
type LogMark = { readonly horizon: string; readonly newest: string; readonly reached: string };

type LogRange = { readonly after: string; readonly to: string; readonly streamPrefix: string; readonly limit: number };

export type Reads = Required<
  Pick<EventStore, "readStream" | "readLog" | "head" | "heads" | "end" | "newestStream" | "orphanEvents" | "namingKey">
> & {
  /** How far the log can be read now: events up to the horizon, in a later statement. */
  readonly mark: (seen: string, trying?: Trying) => Promise<LogMark>;
  readonly page: (range: LogRange, trying?: Trying) => Promise<LogPage>;
};

/** The most events in a page. */
const maxPageRows = 256;

/** A page with more UTF-16 units of data makes the next one shorter. */
const maxPageUnits = 4 * 1024 * 1024;

const maxHeadRows = 256;

/** The pause while an append of another process ends. */
const horizonPauseMs = 2;

/**
 * The columns of `EventRow`, of `streams` joined with `events AS event`. A bigint as float8 comes as a number, and as text with all of
 * its digits.
 */
const eventColumns = [
  ...["streams.name", "event.position::text", "event.revision::float8", "event.actor", "event.data", "event.id"],
  ...["event.type", "event.version::float8", "event.at", "event.run_id", "event.frame", "event.causation_id"],
  ...["event.tenant", "event.key_id", "event.nonce", "NULLIF(event.encoding, 'lines')", "event.data_digest"],
  "event.digest",
].join(", ");

export function createReads(
  database: Database,
  { storeId, seen }: { readonly storeId: string; readonly seen: Seen },
): Reads {
  const { schema, shown, deadlineMs } = database.address;
  const envelopeOf = createEnvelopes();
  const streamPage = (condition: string) =>
    `SELECT ${eventColumns} FROM ${schema}.streams JOIN ${schema}.events AS event ON event.stream = streams.number
     WHERE streams.name = $1 AND event.revision ${condition} LIMIT $3`;
  const pages = {
    forwards: streamPage(">= $2::bigint ORDER BY event.revision"),
    backwards: streamPage("<= $2::bigint ORDER BY event.revision DESC"),
  };
  // The page first: the planner might otherwise begin with the streams, and sort the rest of the log for each page.
  const logPage = `WITH page AS MATERIALIZED (
      SELECT * FROM ${schema}.events WHERE position > $1::bigint AND position <= $2::bigint ORDER BY position LIMIT $4
    ), looked AS (SELECT count(*)::int AS rows, max(position)::text AS last FROM page)
    SELECT looked.rows, looked.last, ${eventColumns} FROM looked
    LEFT JOIN (page AS event JOIN ${schema}.streams ON streams.number = event.stream AND starts_with(streams.name, $3)) ON true
    ORDER BY event.position`;
  const newestPage = `WITH page AS MATERIALIZED (
      SELECT position, stream FROM ${schema}.events WHERE position < $1::bigint ORDER BY position DESC LIMIT 1024
    ), looked AS (SELECT min(position)::text AS first FROM page)
    SELECT looked.first, found.name FROM looked LEFT JOIN (
      SELECT streams.name FROM page JOIN ${schema}.streams ON streams.number = page.stream AND starts_with(streams.name, $2)
      ORDER BY page.position DESC LIMIT 1
    ) AS found ON true`;

  /** @throws {StoreReplacedError} if the store is behind a position that somebody has seen, as it is after it was set back. */
  async function mark(after: string, trying?: Trying): Promise<LogMark> {
    checkPosition(after, shown);
    const known = comparePositions(after, seen.position()) > 0 ? after : seen.position();
    const text = `SELECT horizon, newest, reached FROM ${schema}.horizon_1($1, $2)`;
    const [row] = await database.rows<LogMark>(text, [storeId, known], trying);
    if (row === undefined) throw new StoreUnavailableError(`${shown} did not say how far its log reaches`);
    return row;
  }

  /** The mark once it includes everything that was acknowledged before this call. */
  async function settled(after: string, trying?: Trying): Promise<LogMark> {
    const first = await mark(after, trying);
    const until = realTime.nowMs() + deadlineMs;
    let reading = first;
    while (comparePositions(reading.horizon, first.reached) < 0) {
      if (realTime.nowMs() >= until) {
        throw new StoreUnavailableError(
          `${shown} did not finish an append that began at position ${reading.horizon}: find who holds it up (pg_stat_activity)`,
        );
      }
      await realTime.wait(horizonPauseMs, trying?.signal);
      trying?.signal?.throwIfAborted();
      reading = await mark(after, trying);
    }
    return reading;
  }

  async function page({ after, to, streamPrefix, limit }: LogRange, trying?: Trying): Promise<LogPage> {
    const rows = await database.lists<LogRow>(logPage, [after, to, streamPrefix, limit], trying);
    const [looked = 0, last = null] = rows[0] ?? [];
    const events = rows.flatMap((row): readonly StoredEnvelope[] => {
      const [, , name, ...columns] = row;
      // Without an event of the prefix, there is one row without an event.
      return name === null ? [] : [envelopeOf([name, ...columns])];
    });
    if (last !== null) seen.note(last);
    return { events, last, isFull: looked === limit };
  }

  async function* readStream(stream: string, options: ReadStreamOptions = {}): AsyncIterable<StoredEnvelope> {
    const { direction = "forwards", limit = Number.POSITIVE_INFINITY, signal } = options;
    const step = direction === "forwards" ? 1 : -1;
    let next = options.from ?? (step > 0 ? 0 : Number.MAX_SAFE_INTEGER);
    const size = createPageSize();
    database.refuseIfClosed();
    for (let left = limit; left > 0; ) {
      signal?.throwIfAborted();
      const wanted = Math.min(left, size.rows());
      const rows = await database.lists<EventRow>(pages[direction], [stream, next, wanted], { signal });
      const events = rows.map((row) => envelopeOf(row));
      size.note(events);
      for (const event of events) {
        database.refuseIfClosed();
        signal?.throwIfAborted();
        seen.note(event.position);
        yield event;
        next = event.revision + step;
      }
      left -= events.length;
      if (events.length < wanted) return;
    }
  }

  async function* readLog(options: ReadLogOptions = {}): AsyncIterable<StoredEnvelope> {
    const { streamPrefix = "", limit = Number.POSITIVE_INFINITY, signal } = options;
    let after = options.after ?? "0";
    const size = createPageSize();
    database.refuseIfClosed();
    let { horizon: to } = await settled(after, { signal });
    for (let left = limit, isLast = false; left > 0; ) {
      signal?.throwIfAborted();
      // With a prefix, a page may have none of its events.
      const rows = streamPrefix === "" ? Math.min(left, size.rows()) : size.rows();
      const read = await page({ after, to, streamPrefix, limit: rows }, { signal });
      size.note(read.events);
      for (const event of read.events) {
        database.refuseIfClosed();
        signal?.throwIfAborted();
        yield event;
        left -= 1;
        if (left === 0) return;
      }
      after = read.last ?? after;
      if (read.isFull) isLast = false;
      else if (isLast) return;
      else {
        // Events may have come during the read.
        to = (await settled(after, { signal })).horizon;
        isLast = true;
      }
    }
  }

  async function* heads(streamPrefix = ""): AsyncIterable<{ readonly stream: string; readonly head: Head }> {
    database.refuseIfClosed();
    const select = (condition: string): string =>
      `SELECT name, revision::float8 AS revision, digest FROM ${schema}.streams WHERE name ${condition} $1 ORDER BY name LIMIT ${maxHeadRows}`;
    for (let from = streamPrefix, condition = ">="; ; condition = ">") {
      const rows = await database.rows<HeadRow>(select(condition), [from]);
      for (const { name, revision, digest } of rows) {
        if (!name.startsWith(streamPrefix)) return;
        database.refuseIfClosed();
        yield { stream: name, head: { revision, digest } };
        from = name;
      }
      if (rows.length < maxHeadRows) return;
    }
  }

  return {
    readStream,
    readLog,
    heads,
    page,
    mark,
    async head(stream) {
      database.refuseIfClosed();
      const text = `SELECT name, revision::float8 AS revision, digest FROM ${schema}.streams WHERE name = $1`;
      const [row] = await database.rows<HeadRow>(text, [stream]);
      return row === undefined ? null : { revision: row.revision, digest: row.digest };
    },
    async end() {
      database.refuseIfClosed();
      const { newest } = await settled("0");
      return newest === "0" ? null : newest;
    },
    async newestStream(streamPrefix) {
      database.refuseIfClosed();
      for (let before: string = String(2n ** 63n - 1n); ; ) {
        const [row] = await database.rows<NewestRow>(newestPage, [before, streamPrefix]);
        if (row === undefined || row.name !== null || row.first === null) return row?.name ?? null;
        before = row.first;
      }
    },
    async orphanEvents() {
      database.refuseIfClosed();
      return database.rows<OrphanEvents>(
        `SELECT 'stream number ' || stream AS place, min(revision)::float8 AS revision, count(*)::float8 AS events
         FROM ${schema}.events WHERE NOT EXISTS (SELECT FROM ${schema}.streams WHERE number = stream) GROUP BY stream ORDER BY stream`,
        [],
      );
    },
    async namingKey(stream) {
      database.refuseIfClosed();
      const text = `SELECT key FROM ${schema}.keys WHERE stream = $1`;
      const [row] = await database.rows<{ readonly key: string }>(text, [stream]);
      return row?.key ?? null;
    },
  };
}

type HeadRow = { readonly name: string; readonly revision: number; readonly digest: string };
type NewestRow = { readonly first: string | null; readonly name: string | null };
type LogRow = readonly [rows: number, last: string | null, ...OrNoEvent<EventRow>];
type OrNoEvent<Row extends readonly unknown[]> = Row extends readonly [infer Name, ...infer Columns]
  ? readonly [Name | null, ...Columns]
  : never;

/** @throws {StoreCorruptedError} for a position that another kind of store gave. */
function checkPosition(position: string, shown: string): void {
  if (/^\d{1,18}$/.test(position)) return;
  throw new StoreCorruptedError(
    `${position} is not a position of the store at ${shown}: read its log from the beginning`,
  );
}

/** How many events to ask for next: few at first, more while they are small. */
export type PageSize = {
  readonly rows: () => number;
  readonly note: (events: readonly Pick<StoredEnvelope, "data">[]) => void;
};

export function createPageSize(): PageSize {
  let rows = 64;
  return {
    rows: () => rows,
    note(events) {
      let units = 0;
      for (const { data } of events) units += data.length;
      if (units > maxPageUnits) rows = Math.max(1, rows >> 1);
      else if (units < maxPageUnits / 4) rows = Math.min(maxPageRows, rows * 2);
    },
  };
}
