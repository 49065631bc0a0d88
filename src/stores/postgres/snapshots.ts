import type { Snapshot, SnapshotStore } from "../../log/ports/snapshot-store.ts";
import type { Database } from "./database.ts";

/** Snapshots beside the events, in a table of their own. */
export function createPostgresSnapshots(database: Database): SnapshotStore {
  const table = `${database.address.schema}.snapshots`;
  const derived = { isDerived: true };
  return {
    async get({ stream, projection, version }, atMost) {
      database.refuseIfClosed();
      const [row] = await database.rows<Snapshot>(
        `SELECT revision::float8 AS revision, data FROM ${table}
         WHERE stream = $1 AND projection = $2 AND version = $3 AND revision <= $4 ORDER BY revision DESC LIMIT 1`,
        [stream, projection, version, atMost],
        derived,
      );
      return row === undefined ? null : { revision: row.revision, data: row.data };
    },
    async put({ stream, projection, version }, { revision, data }) {
      database.refuseIfClosed();
      await database.rows(
        `INSERT INTO ${table} (stream, projection, version, revision, data) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (stream, projection, version, revision) DO UPDATE SET data = excluded.data`,
        [stream, projection, version, revision, data],
        derived,
      );
    },
    async deleteAll() {
      database.refuseIfClosed();
      await database.rows(`DELETE FROM ${table}`, [], derived);
    },
  };
}
