import type { DatabaseSync } from "node:sqlite";
import {
  firstRevision,
  isSameHead,
  type PresentEvent,
  resolveHeadMismatch,
} from "../../log/codec/idempotent-append.ts";
import { headOf } from "../../log/codec/prepare.ts";
import type { AppendResult, Head, PreparedAppend } from "../../log/ports/event-store.ts";
import { eventParameters, insertEvent } from "./rows.ts";

/** A stream's row: its head, and the number that stands for its name in the events. */
type StreamRow = Head & { readonly number: number };

/** Streams whose numbers are remembered. */
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
  // Looks and writes at once: one statement less for every append that finds what it expects.
  const moveHead = database.prepare(
    "UPDATE streams SET revision = ?, digest = ? WHERE name = ? AND revision = ? AND digest = ? RETURNING number",
  );
  // The same where the number is known: without a look at the names, and without a row to answer with.
  const moveKnownHead = database.prepare(
    "UPDATE streams SET revision = ?, digest = ? WHERE number = ? AND name = ? AND revision = ? AND digest = ?",
  );
  const numberByName = new Map<string, number>();
  const insert = database.prepare(insertEvent);
  // Positions may be greater than a number holds exactly.
  insert.setReadBigInts(true);
  const selectPlace = database.prepare(
    "SELECT id, digest, CAST(position AS TEXT) AS position FROM events WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?",
  );

  /** The stream's number, when it was at the expected head and now is at the new one. */
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
    // RETURNING gives the one column that is asked for.
    const { number } = row as Pick<StreamRow, "number">;
    if (numberByName.size === maxRememberedStreams) numberByName.clear();
    numberByName.set(stream, number);
    return number;
  }

  /** The answer to an append that has nothing to write, or does not find the head that it expects. */
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
    const { envelopes } = prepared;
    const head = headOf(envelopes);
    const number = head === null ? null : tryToMove(prepared, head);
    const last = envelopes.at(-1);
    if (head === null || number === null || last === undefined) return answer(prepared);
    // `run` makes an object of counts for each row, and only the position of the last one is needed.
    for (const envelope of envelopes) if (envelope !== last) insert.get(...eventParameters(number, envelope));
    const { lastInsertRowid: position } = insert.run(...eventParameters(number, last));
    return { status: "appended", head, position: String(position) };
  };
}
