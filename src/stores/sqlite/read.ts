import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Head, OrphanEvents } from "../../log/ports/event-store.ts";
import { type EventRow, eventColumns } from "./rows.ts";

/** Rows of one page. A page is read at once, so that no read transaction outlives a turn of the event loop. */
export const maxPageRows = 64;

type HeadRow = Head & { readonly name: string };

/** Pages of what a database holds, each by where the one before ended. */
export type Pages = {
  forwards(stream: string, from: number, limit: number): readonly EventRow[];
  backwards(stream: string, from: number, limit: number): readonly EventRow[];
  log(after: string, streamPrefix: string, limit: number): readonly EventRow[];
  /** The position of the newest event; 0 before the first. */
  end(): string | null;
  head(stream: string): Head | null;
  heads(fromName: string): readonly HeadRow[];
  /** The stream of the newest event of those whose name begins so. */
  newestStream(streamPrefix: string): string | null;
};

export function createPages(database: DatabaseSync): Pages {
  // The joins are crossed so that SQLite keeps to this order of the tables whatever it thinks of the conditions.
  const streamPage = (condition: string) =>
    prepareRows(
      database,
      `SELECT ${eventColumns} FROM streams CROSS JOIN events AS event ON event.stream = streams.number
       WHERE streams.name = ? AND event.revision ${condition} LIMIT ?`,
    );
  const forwards = streamPage(">= ? ORDER BY event.revision");
  const backwards = streamPage("<= ? ORDER BY event.revision DESC");
  const log = prepareRows(
    database,
    `SELECT ${eventColumns} FROM events AS event CROSS JOIN streams ON streams.number = event.stream
     WHERE event.position > ? AND substr(streams.name, 1, ?) = ? ORDER BY event.position LIMIT ?`,
  );
  const end = database.prepare("SELECT CAST(max(position) AS TEXT) AS position FROM events");
  const head = database.prepare(`SELECT ${headColumns} FROM streams WHERE name = ?`);
  const heads = database.prepare(`SELECT name, ${headColumns} FROM streams WHERE name >= ? ORDER BY name LIMIT ?`);

  const newest = database.prepare(
    `SELECT streams.name AS name FROM events AS event CROSS JOIN streams ON streams.number = event.stream
     WHERE substr(streams.name, 1, ?) = ? ORDER BY event.position DESC LIMIT 1`,
  );
  const exact = createExactRows(database);

  return {
    forwards: (stream, from, limit) => exact(forwards(stream, from, Math.min(limit, maxPageRows))),
    backwards: (stream, from, limit) => exact(backwards(stream, from, Math.min(limit, maxPageRows))),
    log(after, streamPrefix, limit) {
      // SQLite counts code points, as the iterator of a string does.
      const prefixLength = Array.from(streamPrefix).length;
      return exact(log(BigInt(after), prefixLength, streamPrefix, Math.min(limit, maxPageRows)));
    },
    end() {
      const position = end.get()?.["position"];
      return typeof position === "string" ? position : null;
    },
    // Rows are cast to the columns that their statement selects; the tables are STRICT.
    head(stream) {
      const row = head.get(stream) as Head | undefined;
      return row === undefined ? null : { revision: row.revision, digest: row.digest };
    },
    newestStream(streamPrefix) {
      const name = newest.get(Array.from(streamPrefix).length, streamPrefix)?.["name"];
      return typeof name === "string" ? name : null;
    },
    heads: (fromName) => heads.all(fromName, maxPageRows) as HeadRow[],
  };
}

/** Where damage made NULL of what is never NULL, an empty text or no revision stands in: the digests then tell. */
function withoutNulls(row: FoundRow): EventRow {
  if (isWhole(row)) return row;
  const [stream, position, revision, actor, data, id, type, version, at, ...rest] = row;
  const [runId, frame, causationId, tenant, keyId, nonce, encoding, dataDigest, digest] = rest;
  return [
    ...([stream ?? "", position ?? "0", revision ?? -1, actor ?? "", data ?? "", id ?? "", type ?? ""] as const),
    ...([version ?? -1, at ?? "", runId, frame, causationId, tenant, keyId, nonce, encoding] as const),
    ...([dataDigest ?? "", digest ?? ""] as const),
  ];
}

/** A row as a file gives it that may be damaged. */
type FoundRow = OrNull<EventRow>;
type OrNull<Row extends readonly unknown[]> = { readonly [Column in keyof Row]: Row[Column] | null };

/** Whether all is there but what may be NULL: `runId` to `encoding`. Runs for every event that is read. */
function isWhole(row: FoundRow): row is EventRow {
  for (let column = 0; column < 9; column += 1) if (row[column] === null) return false;
  return row[16] !== null && row[17] !== null;
}

/** A query of `eventColumns`. Its rows come as lists: an object of so many members is slow to make, and to read. */
function prepareRows(database: DatabaseSync, sql: string): (...parameters: SQLInputValue[]) => readonly FoundRow[] {
  const select = database.prepare(sql);
  // Node before 22.16 has objects only, with their members in the order of the columns.
  const isListed = "setReturnArrays" in select;
  if (isListed) select.setReturnArrays(true);
  return (...parameters) => {
    const rows: readonly object[] = select.all(...parameters);
    // The statement selects these columns, and the tables are STRICT.
    return (isListed ? rows : rows.map((row): unknown[] => Object.values(row))) as FoundRow[];
  };
}

/**
 * Bytes that are no UTF-8 read as U+FFFD, so in a text that has one anyway a damaged byte would not show. There the bytes
 * are looked at, and damaged ones read as some other text: the digests then tell.
 */
function createExactRows(database: DatabaseSync): (rows: readonly FoundRow[]) => readonly EventRow[] {
  const select = database.prepare(
    "SELECT CAST(data AS BLOB) AS data, CAST(actor AS BLOB) AS actor FROM events WHERE position = ?",
  );
  const exactText = (text: string, bytes: unknown): string => {
    const stored = Buffer.from(bytes instanceof Uint8Array ? bytes : []);
    return stored.equals(Buffer.from(text)) ? text : stored.toString("latin1");
  };
  const exactRow = (found: FoundRow): EventRow => {
    const row = withoutNulls(found);
    const [stream, position, revision, actor, data] = row;
    if (!data.includes("\ufffd") && !actor.includes("\ufffd")) return row;
    const bytes = select.get(BigInt(position));
    const [, , , , , ...rest] = row;
    return [stream, position, revision, exactText(actor, bytes?.["actor"]), exactText(data, bytes?.["data"]), ...rest];
  };
  return (rows) => rows.map(exactRow);
}

// As REAL, a damaged number is a wrong one; as INTEGER, one beyond 2^53 would make the whole page unreadable.
const headColumns = "coalesce(CAST(revision AS REAL), -1) AS revision, coalesce(digest, '') AS digest";

/** Events whose row in `streams` is gone: the stream's number is all that is left of its name. */
export function orphanEvents(database: DatabaseSync): readonly OrphanEvents[] {
  const select = database.prepare(
    `SELECT 'stream number ' || stream AS place, CAST(min(revision) AS REAL) AS revision, count(*) AS events FROM events
     WHERE stream NOT IN (SELECT number FROM streams WHERE name IS NOT NULL) GROUP BY stream ORDER BY stream`,
  );
  // The statement selects these columns, and the tables are STRICT.
  return select.all().map((row) => ({ ...row }) as OrphanEvents);
}
