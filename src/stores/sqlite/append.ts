import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  firstRevision,
  headOf,
  isSameHead,
  type PresentEvent,
  resolveHeadMismatch,
} from "../../log/codec/idempotent-append.ts";
import type { AppendResult, Head, PreparedAppend } from "../../log/ports/event-store.ts";
import { eventParameters, insertEvent } from "./rows.ts";

/** A stream's row: its head, and the number by which events refer to it. */
type StreamRow = Head & { readonly number: number };

/** How many streams' numbers to cache. */
const maxRememberedStreams = 1_000;

/** Appends inside the caller's transaction. */
export type AppendInTransaction = (prepared: PreparedAppend) => AppendResult;

export function createAppend(database: DatabaseSync): AppendInTransaction {
  const selectStream = database.prepare(
    "SELECT number, CAST(revision AS REAL) AS revision, digest FROM streams WHERE name = ?",
  );
  const insertStream = database.prepare(
    "INSERT INTO streams (name, revision, digest) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING number",
  );
  // Checks and writes in one statement, which saves one for every append that finds the expected head.
  const moveHead = database.prepare(
    "UPDATE streams SET revision = ?, digest = ? WHERE name = ? AND revision = ? AND digest = ? RETURNING number",
  );
  // The same for a known number: it does not look up the name, and returns no row.
  const moveKnownHead = database.prepare(
    "UPDATE streams SET revision = ?, digest = ? WHERE number = ? AND name = ? AND revision = ? AND digest = ?",
  );
  /** Prepared on first use: a file of schema 1 has no such table. */
  let insertKey: StatementSync | null = null;
  const numberByName = new Map<string, number>();
  const insert = database.prepare(insertEvent);
  // Positions may exceed the exact range of a number.
  insert.setReadBigInts(true);
  const selectPlace = database.prepare(
    "SELECT id, digest, CAST(position AS TEXT) AS position FROM events WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?",
  );

  /** Moves the stream from the expected head to the new one, and returns its number; null if it was at another head. */
  function tryToMove({ stream, expectedHead: expected }: PreparedAppend, head: Head): number | null {
    const { revision, digest } = head;
    const known = numberByName.get(stream);
    if (known !== undefined && expected !== null) {
      const { changes } = moveKnownHead.run(revision, digest, known, stream, expected.revision, expected.digest);
      if (changes === 1) return known;
    }
    const row =
      expected === null
        ? insertStream.get(stream, revision, digest)
        : moveHead.get(revision, digest, stream, expected.revision, expected.digest);
    if (row === undefined) return null;
    // RETURNING returns only this column.
    const { number } = row as Pick<StreamRow, "number">;
    if (numberByName.size === maxRememberedStreams) numberByName.clear();
    numberByName.set(stream, number);
    return number;
  }

  /** The result of an append that has nothing to write, or does not find the expected head. */
  function answer(prepared: PreparedAppend): AppendResult {
    const { expectedHead: expected, envelopes } = prepared;
    // The statements select these columns, and the tables are STRICT.
    const stream = selectStream.get(prepared.stream) as StreamRow | undefined;
    const actual = stream === undefined ? null : { revision: stream.revision, digest: stream.digest };
    const present = (from: number, limit: number): readonly PresentEvent[] =>
      stream === undefined ? [] : (selectPlace.all(stream.number, from, limit) as PresentEvent[]);
    if (envelopes.length > 0 || !isSameHead(expected, actual)) {
      return resolveHeadMismatch(prepared, actual, present(firstRevision(prepared), envelopes.length));
    }
    const [newest] = actual === null ? [] : present(actual.revision, 1);
    return actual === null || newest === undefined
      ? { status: "conflict", actual }
      : { status: "appended", head: actual, position: newest.position };
  }

  return (prepared) => {
    const { envelopes, namingKey } = prepared;
    const head = headOf(envelopes);
    const number = head === null ? null : tryToMove(prepared, head);
    const last = envelopes.at(-1);
    if (head === null || number === null || last === undefined) return answer(prepared);
    if (namingKey !== undefined) {
      insertKey ??= database.prepare("INSERT OR REPLACE INTO keys (stream, key) VALUES (?, ?)");
      insertKey.run(prepared.stream, namingKey);
    }
    // `run` would create an object of counts for each row, and only the last position is needed.
    for (const envelope of envelopes) if (envelope !== last) insert.get(...eventParameters(number, envelope));
    const { lastInsertRowid: position } = insert.run(...eventParameters(number, last));
    return { status: "appended", head, position: String(position) };
  };
}
