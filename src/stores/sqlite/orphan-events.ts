import type { DatabaseSync } from "node:sqlite";
import type { OrphanEvents } from "../../log/ports/event-store.ts";

/** Events whose row in `streams` is gone: the stream's number is all that is left of its name. */
export function orphanEvents(database: DatabaseSync): readonly OrphanEvents[] {
  const select = database.prepare(
    `SELECT 'stream number ' || stream AS place, CAST(min(revision) AS REAL) AS revision, count(*) AS events FROM events
     WHERE stream NOT IN (SELECT number FROM streams) GROUP BY stream ORDER BY stream`,
  );
  // The statement selects these columns, and the tables are STRICT.
  return select.all().map((row) => ({ ...row }) as OrphanEvents);
}
