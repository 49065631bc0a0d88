import type { DatabaseSync } from "node:sqlite";
import { answerMismatch, firstRevision, isSameHead, type PresentEvent } from "../../engine/codec/repeat.ts";
import type { AppendResult, Head, PreparedAppend } from "../../engine/event-store.ts";
import { eventParameters, insertEvent } from "./rows.ts";

/** A stream's row: its head, and the number that stands for its name in the events. */
type StreamRow = Head & { readonly number: number };

/** Appends inside the caller's transaction. */
export type AppendInTransaction = (prepared: PreparedAppend) => AppendResult;

export function createAppend(database: DatabaseSync): AppendInTransaction {
  const selectStream = database.prepare(
    "SELECT number, CAST(revision AS REAL) AS revision, digest FROM streams WHERE name = ?",
  );
  const insertStream = database.prepare(
    "INSERT INTO streams (name, revision, digest) VALUES (?, ?, ?) RETURNING number",
  );
  const updateHead = database.prepare("UPDATE streams SET revision = ?, digest = ? WHERE number = ?");
  const insert = database.prepare(insertEvent);
  // Positions may be greater than a number holds exactly.
  insert.setReadBigInts(true);
  const selectPlace = database.prepare(
    "SELECT id, digest, CAST(position AS TEXT) AS position FROM events WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?",
  );

  /** What stands at the append's place; for an empty append, the event before it. */
  function present(stream: StreamRow | undefined, from: number, limit: number): readonly PresentEvent[] {
    // The statement selects these columns, and the table is STRICT.
    return stream === undefined ? [] : (selectPlace.all(stream.number, from, limit) as PresentEvent[]);
  }

  return (prepared) => {
    const { expected, envelopes } = prepared;
    // As above.
    const stream = selectStream.get(prepared.stream) as StreamRow | undefined;
    const actual = stream === undefined ? null : { revision: stream.revision, digest: stream.digest };
    if (!isSameHead(expected, actual)) {
      return answerMismatch(prepared, actual, present(stream, firstRevision(prepared), envelopes.length));
    }
    const last = envelopes.at(-1);
    if (last === undefined) {
      const [newest] = actual === null ? [] : present(stream, actual.revision, 1);
      return actual === null || newest === undefined
        ? { status: "conflict", actual }
        : { status: "appended", head: actual, position: newest.position };
    }
    const head = { revision: last.revision, digest: last.digest };
    // RETURNING gives the one column that is asked for.
    const number =
      stream?.number ?? (insertStream.get(prepared.stream, head.revision, head.digest) as StreamRow).number;
    if (stream !== undefined) updateHead.run(head.revision, head.digest, number);
    let position: number | bigint = 0;
    for (const envelope of envelopes) position = insert.run(...eventParameters(number, envelope)).lastInsertRowid;
    return { status: "appended", head, position: String(position) };
  };
}
