import { DatabaseSync } from "node:sqlite";
import type { Random } from "../coherence/random.ts";

/** What was done to a store, and where a verification has to find it. */
export type Corruption = {
  readonly what: string;
  readonly stream: string;
  readonly revision: number;
  /** Another stream that the same event now stands in, or the number of one that is not there. */
  readonly also: string | null;
};

type Row = {
  readonly position: number;
  readonly stream: number;
  readonly name: string;
  readonly revision: number;
  readonly last: number;
};

/** Does one random thing to the file that no turnlog would do. */
export function corrupt(path: string, random: Random): Corruption {
  const database = new DatabaseSync(path);
  try {
    for (;;) {
      const corruption = tryToCorrupt(database, random);
      if (corruption !== null) return corruption;
    }
  } finally {
    database.close();
  }
}

function tryToCorrupt(database: DatabaseSync, random: Random): Corruption | null {
  const row = random.pick(rowsOf(database));
  try {
    return random.pick(corruptions)(database, row, random);
  } catch (error) {
    // The schema forbids it: two events at one place, or no value where one must be.
    if (error instanceof Error && "errcode" in error && Number(error.errcode) % 256 === 19) return null;
    throw error;
  }
}

function rowsOf(database: DatabaseSync): readonly Row[] {
  const rows = database.prepare(
    `SELECT position, stream, name, events.revision AS revision, streams.revision AS last
     FROM events JOIN streams ON streams.number = events.stream`,
  );
  // The statement selects these columns, and the tables are STRICT.
  return rows.all() as Row[];
}

type Corrupt = (database: DatabaseSync, row: Row, random: Random) => Corruption | null;

const textColumns = [
  ...["id", "type", "at", "actor", "run_id", "frame", "causation_id", "tenant", "key_id", "nonce"],
  ...["encoding", "data_digest", "digest", "data"],
];
const numberColumns = ["stream", "revision", "version"];

const changeTextByte: Corrupt = (database, row, random) => {
  const column = random.pick(textColumns);
  const value = database
    .prepare(`SELECT CAST(${column} AS BLOB) AS bytes FROM events WHERE position = ?`)
    .get(row.position);
  const bytes = value?.["bytes"];
  const update = database.prepare(`UPDATE events SET ${column} = CAST(? AS TEXT) WHERE position = ?`);
  if (!(bytes instanceof Uint8Array)) {
    update.run("x", row.position);
    return found(row, `${column} was filled`);
  }
  const index = random.below(bytes.length);
  const changed = Uint8Array.from(bytes);
  changed[index] = (bytes[index] ?? 0) ^ (1 + random.below(255));
  update.run(changed, row.position);
  return found(row, `byte ${index} of ${column} became ${changed[index]}`);
};

const changeNumberByte: Corrupt = (database, row, random) => {
  const column = random.pick(numberColumns);
  const select = database.prepare(`SELECT ${column} AS number FROM events WHERE position = ?`);
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(Number(select.get(row.position)?.["number"])));
  // The small bytes are where the neighbours are.
  const index = random.pick([0, 3, 5, 6, 7, 7, 7]);
  bytes.writeUInt8(bytes.readUInt8(index) ^ (1 + random.below(255)), index);
  const number = bytes.readBigInt64BE();
  database.prepare(`UPDATE events SET ${column} = ? WHERE position = ?`).run(number, row.position);
  const other =
    column === "stream" ? database.prepare("SELECT name FROM streams WHERE number = ?").get(number) : undefined;
  const nowhere = column === "stream" ? `stream number ${number}` : null;
  const also = typeof other?.["name"] === "string" ? other["name"] : nowhere;
  return { ...found(row, `${column} became ${number}`), also };
};

const clear: Corrupt = (database, row, random) => {
  const column = random.pick(["run_id", "frame"]);
  const { changes } = database
    .prepare(`UPDATE events SET ${column} = NULL WHERE position = ? AND ${column} IS NOT NULL`)
    .run(row.position);
  return changes === 0 ? null : found(row, `${column} was cleared`);
};

const remove: Corrupt = (database, row) => {
  database.prepare("DELETE FROM events WHERE position = ?").run(row.position);
  return found(row, "deleted");
};

const removeLast: Corrupt = (database, { stream, name, last }) => {
  database.prepare("DELETE FROM events WHERE stream = ? AND revision = ?").run(stream, last);
  return { what: "last deleted", stream: name, revision: last, also: null };
};

const swap: Corrupt = (database, row, random) => {
  const other = random.pick(rowsOf(database).filter(({ stream }) => stream === row.stream));
  if (other.revision === row.revision) return null;
  const move = database.prepare("UPDATE events SET revision = ? WHERE position = ?");
  move.run(-1, row.position);
  move.run(row.revision, other.position);
  move.run(other.revision, row.position);
  return { ...found(row, `swapped with ${other.revision}`), revision: Math.min(row.revision, other.revision) };
};

const duplicate: Corrupt = (database, row, random) => {
  const { stream, revision, last } = row;
  const isInside = random.chance(0.5);
  const place = isInside ? revision + 1 : last + 1;
  const shift = "UPDATE events SET revision = ? - revision WHERE stream = ? AND revision >= ?";
  // By way of negative numbers, where nothing is in the way.
  database.prepare(shift).run(0, stream, place);
  database.prepare("UPDATE events SET revision = 1 - revision WHERE stream = ? AND revision < 0").run(stream);
  const columns = ["version", ...textColumns].join(", ");
  database
    .prepare(
      `INSERT INTO events (stream, revision, ${columns}) SELECT stream, ?, ${columns} FROM events WHERE position = ?`,
    )
    .run(place, row.position);
  const hasHead = random.chance(0.5);
  if (hasHead) database.prepare("UPDATE streams SET revision = revision + 1 WHERE number = ?").run(stream);
  return { ...found(row, `${revision} duplicated, head ${hasHead ? "moved" : "left"}`), revision: place };
};

const cutTail: Corrupt = (database, row) => {
  database.prepare("DELETE FROM events WHERE stream = ? AND revision >= ?").run(row.stream, row.revision);
  return found(row, "tail cut");
};

const found = ({ name, revision }: Row, what: string): Corruption => ({ what, stream: name, revision, also: null });

/** Bytes of the content are most of a file, and get most of the damage. */
const corruptions: readonly Corrupt[] = [
  ...[changeTextByte, changeTextByte, changeTextByte, changeTextByte, changeTextByte, changeTextByte],
  ...[changeNumberByte, changeNumberByte, clear, remove, removeLast, swap, duplicate, cutTail],
];
