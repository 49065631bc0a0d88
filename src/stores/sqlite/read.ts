import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Head, OrphanEvents } from "../../log/ports/event-store.ts";
import { type EventRow, eventColumns } from "./rows.ts";
import { hasKeys } from "./schema.ts";

/** The number of rows in a page. A page is read at once, so that no read transaction outlasts a turn of the event loop. */
export const maxPageRows = 64;

type HeadRow = Head & { readonly name: string };

/** Reads a database in pages; each page begins where the one before ended. */
export type Pages = {
  forwards(stream: string, from: number, limit: number): readonly EventRow[];
  backwards(stream: string, from: number, limit: number): readonly EventRow[];
  log(after: string, streamPrefix: string, limit: number): readonly EventRow[];
  /** The position of the newest event; 0 before the first. */
  end(): string | null;
  head(stream: string): Head | null;
  heads(fromName: string): readonly HeadRow[];
  /** The stream of the newest event among the streams whose name has this prefix. */
  newestStream(streamPrefix: string): string | null;
};

export function createPages(database: DatabaseSync): Pages {
  // CROSS JOIN makes SQLite keep this order of the tables, whatever its estimates.
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
      // SQLite counts code points, as a string's iterator does.
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

/** Where damage put NULL into a NOT NULL column, uses an empty text or an invalid revision: the digests then reveal it. */
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

/** A row from a file that may be damaged. */
type FoundRow = OrNull<EventRow>;
type OrNull<Row extends readonly unknown[]> = { readonly [Column in keyof Row]: Row[Column] | null };

/** Whether only nullable columns (`runId` to `encoding`) are null. Runs for every event read. */
function isWhole(row: FoundRow): row is EventRow {
  for (let column = 0; column < 9; column += 1) if (row[column] === null) return false;
  return row[16] !== null && row[17] !== null;
}

/** A query of `eventColumns`. Its rows are arrays: objects with so many members are slow to create and to read. */
function prepareRows(database: DatabaseSync, sql: string): (...parameters: SQLInputValue[]) => readonly FoundRow[] {
  const select = database.prepare(sql);
  // Node before 22.16 returns only objects, with their members in the order of the columns.
  const isListed = "setReturnArrays" in select;
  if (isListed) select.setReturnArrays(true);
  return (...parameters) => {
    const rows: readonly object[] = select.all(...parameters);
    // The statement selects these columns, and the tables are STRICT.
    return (isListed ? rows : rows.map((row): unknown[] => Object.values(row))) as FoundRow[];
  };
}

/**
 * Bytes that are not UTF-8 read as U+FFFD, so damage would not show in a text that already has one. In such texts the bytes
 * are checked, and damaged ones read as some other text: the digests then reveal it.
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

// As REAL, a damaged number reads as a wrong one; as INTEGER, one beyond 2^53 would make the whole page unreadable.
const headColumns = "coalesce(CAST(revision AS REAL), -1) AS revision, coalesce(digest, '') AS digest";

/** The naming key of a stream; null if there is none. */
export function namingKey(database: DatabaseSync, stream: string): string | null {
  if (!hasKeys(database)) return null;
  const key = database.prepare("SELECT key FROM keys WHERE stream = ?").get(stream)?.["key"];
  return typeof key === "string" ? key : null;
}

/** Events whose row in `streams` is gone: only the stream's number is left. */
export function orphanEvents(database: DatabaseSync): readonly OrphanEvents[] {
  const select = database.prepare(
    `SELECT 'stream number ' || stream AS place, CAST(min(revision) AS REAL) AS revision, count(*) AS events FROM events
     WHERE stream NOT IN (SELECT number FROM streams WHERE name IS NOT NULL) GROUP BY stream ORDER BY stream`,
  );
  // The statement selects these columns, and the tables are STRICT.
  return select.all().map((row) => ({ ...row }) as OrphanEvents);
}
