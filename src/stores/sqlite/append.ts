import type { DatabaseSync } from "node:sqlite";
import { headOf } from "../../engine/codec/prepare.ts";
import { answerMismatch, firstRevision, isSameHead, type PresentEvent } from "../../engine/codec/repeat.ts";
import type { AppendResult, Head, PreparedAppend } from "../../engine/ports/event-store.ts";
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
    "INSERT INTO streams (name, revision, digest) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING number",
  );
  // Looks and writes at once: one statement less for every append that finds what it expects.
  const moveHead = database.prepare(
    "UPDATE streams SET revision = ?, digest = ? WHERE name = ? AND revision = ? AND digest = ? RETURNING number",
  );
  const insert = database.prepare(insertEvent);
  // Positions may be greater than a number holds exactly.
  insert.setReadBigInts(true);
  const selectPlace = database.prepare(
    "SELECT id, digest, CAST(position AS TEXT) AS position FROM events WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?",
  );

  /** The stream's number, when it was at the expected head and now is at the new one. */
  function tryToMove({ stream, expected }: PreparedAppend, head: Head): number | null {
    const row =
      expected === null
        ? insertStream.get(stream, head.revision, head.digest)
        : moveHead.get(head.revision, head.digest, stream, expected.revision, expected.digest);
    // RETURNING gives the one column that is asked for.
    return row === undefined ? null : (row as Pick<StreamRow, "number">).number;
  }

  /** The answer to an append that has nothing to write, or does not find the head that it expects. */
  function answer(prepared: PreparedAppend): AppendResult {
    const { expected, envelopes } = prepared;
    // The statements select these columns, and the tables are STRICT.
    const stream = selectStream.get(prepared.stream) as StreamRow | undefined;
    const actual = stream === undefined ? null : { revision: stream.revision, digest: stream.digest };
    const present = (from: number, limit: number): readonly PresentEvent[] =>
      stream === undefined ? [] : (selectPlace.all(stream.number, from, limit) as PresentEvent[]);
    if (envelopes.length > 0 || !isSameHead(expected, actual)) {
      return answerMismatch(prepared, actual, present(firstRevision(prepared), envelopes.length));
    }
    const [newest] = actual === null ? [] : present(actual.revision, 1);
    return actual === null || newest === undefined
      ? { status: "conflict", actual }
      : { status: "appended", head: actual, position: newest.position };
  }

  return (prepared) => {
    const head = headOf(prepared.envelopes);
    const number = head === null ? null : tryToMove(prepared, head);
    if (head === null || number === null) return answer(prepared);
    let position: number | bigint = 0;
    for (const envelope of prepared.envelopes)
      position = insert.run(...eventParameters(number, envelope)).lastInsertRowid;
    return { status: "appended", head, position: String(position) };
  };
}
