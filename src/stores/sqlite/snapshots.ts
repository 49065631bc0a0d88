import type { DatabaseSync } from "node:sqlite";
import { contentErased, linesErased } from "../../log/codec/erased.ts";
import type { Snapshot, SnapshotStore } from "../../log/ports/snapshot-store.ts";
import type { Guarded } from "./guarded.ts";

/**
 * Snapshots in the store's own file. `guarded` rejects calls after `close`, waits for locks and translates errors.
 *
 * @param options.besideEvents - The file has the events as well, and something of them may be erased.
 */
export function createSqliteSnapshots(
  database: DatabaseSync,
  guarded: Guarded,
  { besideEvents }: { readonly besideEvents: boolean },
): SnapshotStore {
  const select = database.prepare(
    `SELECT revision, data FROM snapshots
     WHERE stream = ? AND projection = ? AND version = ? AND revision <= ? ORDER BY revision DESC LIMIT 1`,
  );
  const replace = database.prepare(
    `INSERT OR REPLACE INTO snapshots (stream, projection, version, revision, data)
     SELECT $stream, $projection, $version, $revision, $data ${besideEvents ? `WHERE NOT EXISTS (${erasedSince})` : ""}`,
  );
  return {
    async get({ stream, projection, version }, atMost): Promise<Snapshot | null> {
      const row = await guarded(() => select.get(stream, projection, version, atMost));
      const { revision, data } = row ?? {};
      // A damaged page may return any value.
      return typeof revision === "number" && typeof data === "string" ? { revision, data } : null;
    },
    async put({ stream, projection, version }, { revision, data }, seen = revision) {
      const row = { $stream: stream, $projection: projection, $version: version, $revision: revision, $data: data };
      await guarded(() => replace.run(besideEvents ? { ...row, $seen: seen } : row));
    },
    async deleteAll() {
      await guarded(() => {
        database.exec("DELETE FROM snapshots");
      });
    },
  };
}

/** The fences of erasures after a revision. A caller has seen all but the newest few events of the stream. */
const erasedSince = `SELECT 1 FROM events JOIN streams ON streams.number = events.stream
  WHERE streams.name = $stream AND events.revision > $seen AND events.type IN ('${contentErased}', '${linesErased}')`;
