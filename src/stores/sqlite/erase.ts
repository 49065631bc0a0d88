import type { DatabaseSync } from "node:sqlite";
import { erasedData } from "../../log/codec/erased.ts";
import { withErasedLines } from "../../log/codec/lines.ts";
import type { ErasureResult, LineErasure, ScrubResult, StreamErasure } from "../../log/ports/event-store.ts";
import type { Checkpoint } from "../../log/ports/view-store.ts";
import type { AppendInTransaction } from "./append.ts";
import { namingKey } from "./read.ts";
import { hasKeys, secureDelete } from "./schema.ts";
import { createTransactions } from "./transaction.ts";

/** Erases in one transaction: the result is complete, or a conflict that changed nothing. */
export function createErase(
  database: DatabaseSync,
  append: AppendInTransaction,
): (erasure: StreamErasure, confirmPlace: () => void) => ErasureResult {
  const { whole } = createTransactions(database);
  return (erasure, confirmPlace) => {
    try {
      return whole(() => {
        for (const fence of [...erasure.fences, ...erasure.lines.map((each) => each.fence)]) {
          if (append(fence).status === "conflict") throw new FenceConflict(fence.stream);
        }
        const result = eraseStreams(database, erasure);
        confirmPlace();
        return result;
      });
    } catch (error) {
      if (error instanceof FenceConflict) return { status: "conflict", stream: error.stream };
      throw error;
    }
  };
}

/** Rolls back the transaction. */
class FenceConflict extends Error {
  readonly stream: string;

  constructor(stream: string) {
    super(stream);
    this.stream = stream;
  }
}

/** The statements are prepared on use, because most stores need them at most once. */
function eraseStreams(
  database: DatabaseSync,
  { orderId, fences, lines, kept, removed, rows }: StreamErasure,
): ErasureResult {
  const numberOf = database.prepare("SELECT number FROM streams WHERE name = ?");
  const skeleton = kept === "skeleton" ? "" : "type = '', version = 0, at = '',";
  const empty = database.prepare(
    `UPDATE events SET ${skeleton} id = '', actor = '{"kind":"engine"}', run_id = NULL, frame = NULL, causation_id = NULL,
       tenant = NULL, key_id = NULL, nonce = NULL, encoding = 'erased', data_digest = '', data = ?
     WHERE stream = ? AND revision < ?`,
  );
  const removeEvents = database.prepare("DELETE FROM events WHERE stream = ?");
  const removeStream = database.prepare("DELETE FROM streams WHERE number = ?");
  const removeSnapshots = database.prepare("DELETE FROM snapshots WHERE stream = ?");
  const removeKey = hasKeys(database) ? database.prepare("DELETE FROM keys WHERE stream = ?") : null;
  const counts = { events: 0, lines: 0, removedEvents: 0, snapshots: 0, rows: 0 };
  for (const { stream, expectedHead } of fences) {
    const number = Number(numberOf.get(stream)?.["number"]);
    counts.events += Number(empty.run(erasedData(orderId), number, (expectedHead?.revision ?? -1) + 1).changes);
    counts.snapshots += Number(removeSnapshots.run(stream).changes);
    removeKey?.run(stream);
  }
  const emptyLines = createLineEraser(database);
  const destroyed = lines.map(({ fence: { stream } }) => namingKey(database, stream));
  for (const { fence, places, namingKey } of lines) {
    counts.lines += emptyLines(Number(numberOf.get(fence.stream)?.["number"]), places);
    counts.snapshots += Number(removeSnapshots.run(fence.stream).changes);
    database.prepare("INSERT OR REPLACE INTO keys (stream, key) VALUES (?, ?)").run(fence.stream, namingKey);
  }
  if (lines.length > 0) refuseSharedKeys(database, destroyed);
  for (const stream of removed) {
    const number = numberOf.get(stream)?.["number"];
    if (number === undefined) continue;
    counts.removedEvents += Number(removeEvents.run(Number(number)).changes);
    removeStream.run(Number(number));
  }
  const views = eraseRows(database, rows);
  moveCheckpoints(database, new Set([...fences.map(({ stream }) => stream), ...removed]));
  return { status: "erased", ...counts, ...views };
}

/** A stream that still has a key that was destroyed, such as a fork that began meanwhile: its names could be guessed. */
function refuseSharedKeys(database: DatabaseSync, destroyed: readonly (string | null)[]): void {
  const sharing = database.prepare("SELECT stream FROM keys WHERE key IN (SELECT value FROM json_each(?)) LIMIT 1");
  const found = sharing.get(JSON.stringify(destroyed));
  if (found !== undefined) throw new FenceConflict(String(found["stream"]));
}

/** Empties lines of a stream's events, by its number, and returns how many. */
function createLineEraser(database: DatabaseSync): (stream: number, places: LineErasure["places"]) => number {
  const read = database.prepare("SELECT data FROM events WHERE stream = ? AND revision = ?");
  const write = database.prepare("UPDATE events SET data = ? WHERE stream = ? AND revision = ?");
  return (stream, places) => {
    let emptied = 0;
    for (const { revision, lines } of places) {
      const data = read.get(stream, revision)?.["data"];
      if (typeof data !== "string") continue;
      write.run(withErasedLines(data, new Set(lines)), stream, revision);
      emptied += lines.length;
    }
    return emptied;
  };
}

function eraseRows(database: DatabaseSync, keys: readonly string[]): Pick<ErasedRows, "rows" | "projections"> {
  if (!hasViews(database)) return { rows: 0, projections: [] };
  const listed = JSON.stringify(keys);
  const among = "key IN (SELECT value FROM json_each(?))";
  database.prepare(`DELETE FROM view_places WHERE ${among}`).run(listed);
  const { changes } = database.prepare(`DELETE FROM view_rows WHERE ${among}`).run(listed);
  const names = database.prepare("SELECT DISTINCT projection FROM view_builds ORDER BY projection").all();
  return { rows: Number(changes), projections: names.map(({ projection }) => String(projection)) };
}

type ErasedRows = Extract<ErasureResult, { readonly status: "erased" }>;

const hasViews = (database: DatabaseSync): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'view_places'").get() !== undefined;

/** A build recognises its log by the event of its checkpoint. */
function moveCheckpoints(database: DatabaseSync, gone: ReadonlySet<string>): void {
  if (!hasViews(database)) return;
  const before = database.prepare(
    `SELECT CAST(event.position AS TEXT) AS position, event.id AS eventId, streams.name AS stream, event.revision
     FROM events AS event JOIN streams ON streams.number = event.stream
     WHERE event.position <= ? AND event.encoding <> 'erased' ORDER BY event.position DESC LIMIT 1`,
  );
  const save = database.prepare("UPDATE view_builds SET checkpoint = ?, saves = saves + 1 WHERE id = ?");
  for (const { id, checkpoint: text } of database.prepare("SELECT id, checkpoint FROM view_builds").all()) {
    // `save` of the views wrote it from a value of this type.
    const checkpoint = JSON.parse(String(text)) as Checkpoint | null;
    const isGone = checkpoint !== null && gone.has(checkpoint.stream);
    const left = isGone ? before.get(BigInt(checkpoint.position)) : undefined;
    const moved = isGone ? (left === undefined ? null : { storeId: checkpoint.storeId, ...left }) : checkpoint;
    save.run(JSON.stringify(moved), Number(id));
  }
}

/**
 * Removes erased data from the file and its log. In a file of an older turnlog, deleted data was not overwritten, so the file is
 * rewritten once.
 */
export function scrubFile(database: DatabaseSync, { force = false }: { readonly force?: boolean }): ScrubResult {
  const isRewritten = force || !secureDelete.isNoted(database);
  if (isRewritten) {
    database.exec("VACUUM");
    secureDelete.note(database);
  }
  // The log keeps what a reader's open transaction may still see.
  const { busy } = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() ?? {};
  return { status: busy === 0 ? "done" : "busy", isRewritten };
}
