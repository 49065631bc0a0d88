import type { DatabaseSync } from "node:sqlite";
import type { Snapshot, SnapshotStore } from "../../log/ports/snapshot-store.ts";
import type { Guarded } from "./guarded.ts";

/** Snapshots in the store's own file. `guarded` rejects calls after `close`, waits for locks and translates errors. */
export function createSqliteSnapshots(database: DatabaseSync, guarded: Guarded): SnapshotStore {
  const select = database.prepare(
    `SELECT revision, data FROM snapshots
     WHERE stream = ? AND projection = ? AND version = ? AND revision <= ? ORDER BY revision DESC LIMIT 1`,
  );
  const replace = database.prepare(
    "INSERT OR REPLACE INTO snapshots (stream, projection, version, revision, data) VALUES (?, ?, ?, ?, ?)",
  );
  return {
    async get({ stream, projection, version }, atMost): Promise<Snapshot | null> {
      const row = await guarded(() => select.get(stream, projection, version, atMost));
      const { revision, data } = row ?? {};
      // A damaged page may return any value.
      return typeof revision === "number" && typeof data === "string" ? { revision, data } : null;
    },
    async put({ stream, projection, version }, { revision, data }) {
      await guarded(() => replace.run(stream, projection, version, revision, data));
    },
    async deleteAll() {
      await guarded(() => {
        database.exec("DELETE FROM snapshots");
      });
    },
  };
}
