import type { DatabaseSync } from "node:sqlite";
import type { Head } from "../../engine/event-store.ts";
import { type EventRow, eventColumns } from "./rows.ts";

/** Rows of one page. A page is read at once, so that no read transaction outlives a turn of the event loop. */
export const pageRowsMax = 64;

type HeadRow = Head & { readonly name: string };

/** Pages of what a database holds, each by where the one before ended. */
export type Pages = {
  forwards(stream: string, from: number, limit: number): readonly EventRow[];
  backwards(stream: string, from: number, limit: number): readonly EventRow[];
  log(after: string, streamPrefix: string, limit: number): readonly EventRow[];
  head(stream: string): Head | null;
  heads(fromName: string): readonly HeadRow[];
};

export function createPages(database: DatabaseSync): Pages {
  // The joins are crossed so that SQLite keeps to this order of the tables whatever it thinks of the conditions.
  const streamPage = (condition: string) =>
    database.prepare(
      `SELECT ${eventColumns} FROM streams CROSS JOIN events AS event ON event.stream = streams.number
       WHERE streams.name = ? AND event.revision ${condition} LIMIT ?`,
    );
  const forwards = streamPage(">= ? ORDER BY event.revision");
  const backwards = streamPage("<= ? ORDER BY event.revision DESC");
  const log = database.prepare(
    `SELECT ${eventColumns} FROM events AS event CROSS JOIN streams ON streams.number = event.stream
     WHERE event.position > ? AND substr(streams.name, 1, ?) = ? ORDER BY event.position LIMIT ?`,
  );
  const head = database.prepare(`SELECT ${headColumns} FROM streams WHERE name = ?`);
  const heads = database.prepare(`SELECT name, ${headColumns} FROM streams WHERE name >= ? ORDER BY name LIMIT ?`);

  const exact = createExactRows(database);

  // Rows are cast to the columns that their statement selects; the tables are STRICT.
  return {
    forwards: (stream, from, limit) => exact(forwards.all(stream, from, Math.min(limit, pageRowsMax)) as EventRow[]),
    backwards: (stream, from, limit) => exact(backwards.all(stream, from, Math.min(limit, pageRowsMax)) as EventRow[]),
    log(after, streamPrefix, limit) {
      // SQLite counts code points, as the iterator of a string does.
      const prefixLength = Array.from(streamPrefix).length;
      return exact(log.all(BigInt(after), prefixLength, streamPrefix, Math.min(limit, pageRowsMax)) as EventRow[]);
    },
    head(stream) {
      const row = head.get(stream) as Head | undefined;
      return row === undefined ? null : { revision: row.revision, digest: row.digest };
    },
    heads: (fromName) => heads.all(fromName, pageRowsMax) as HeadRow[],
  };
}

/**
 * Bytes that are no UTF-8 read as U+FFFD, so in a text that has one anyway a damaged byte would not show. There the bytes
 * are looked at, and damaged ones read as some other text: the digests then tell.
 */
function createExactRows(database: DatabaseSync): (rows: readonly EventRow[]) => readonly EventRow[] {
  const select = database.prepare(
    "SELECT CAST(data AS BLOB) AS data, CAST(actor AS BLOB) AS actor FROM events WHERE position = ?",
  );
  const exactText = (text: string, bytes: unknown): string => {
    const stored = Buffer.from(bytes instanceof Uint8Array ? bytes : []);
    return stored.equals(Buffer.from(text)) ? text : stored.toString("latin1");
  };
  return (rows) =>
    rows.map((row) => {
      if (!row.data.includes("\ufffd") && !row.actor.includes("\ufffd")) return row;
      const bytes = select.get(BigInt(row.position));
      return { ...row, data: exactText(row.data, bytes?.["data"]), actor: exactText(row.actor, bytes?.["actor"]) };
    });
}

// As REAL, a damaged number is a wrong one; as INTEGER, one beyond 2^53 would make the whole page unreadable.
const headColumns = "CAST(revision AS REAL) AS revision, digest";
