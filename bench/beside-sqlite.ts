import { sha256Hex } from "../src/base/sha256.ts";
import { chainDigest, firstPrevious } from "../src/log/codec/envelope.ts";
import { linesDigest, linesOf } from "../src/log/codec/lines.ts";
import type { NewEvent } from "../src/log/codec/prepare.ts";
import type { Envelope } from "../src/log/ports/event-store.ts";
import { openDatabase } from "../src/stores/sqlite/open.ts";
import { eventParameters, insertEvent } from "../src/stores/sqlite/rows.ts";
import { createTransactions } from "../src/stores/sqlite/transaction.ts";

/** The data for one stream: the events as a caller proposes them, and the same events prepared. */
export type Appends = {
  readonly stream: string;
  readonly batch: number;
  readonly events: readonly NewEvent[];
  readonly envelopes: readonly Envelope[];
};

/**
 * A database like a store's, and the two works that a store is compared with. Both write the same rows as a store, in as many
 * transactions and with its own statements: the stream's head, and a row of seventeen values for each event.
 */
export function openBesideSqlite(path: string) {
  const { database } = openDatabase(path, {});
  const { whole } = createTransactions(database);
  const insert = database.prepare(insertEvent);
  const insertStream = database.prepare(
    "INSERT INTO streams (name, revision, digest) VALUES (?, -1, '') RETURNING number",
  );
  const moveHead = database.prepare("UPDATE streams SET revision = ?, digest = ? WHERE number = ?");
  const numberOf = (stream: string): number => Number(insertStream.get(stream)?.["number"]);

  return {
    /** SQLite alone: all row values are computed before the work begins. */
    alone({ stream, batch, envelopes }: Omit<Appends, "events">): () => void {
      const number = numberOf(stream);
      const rows = envelopes.map((envelope) => ({ envelope, parameters: eventParameters(number, envelope) }));
      return () => {
        for (let start = 0; start < rows.length; start += batch) {
          const part = rows.slice(start, start + batch);
          const last = part.at(-1)?.envelope;
          whole(() => {
            moveHead.get(last?.revision ?? 0, last?.digest ?? "", number);
            for (const { parameters } of part) insert.get(...parameters);
          });
        }
      };
    },

    /**
     * SQLite, JSON and hashes: the work that the format needs. For each event it makes the lines of the data, the JSON of the actor, the
     * commitments, the digest of the data, and the digest that continues the chain, and writes these. Ids, times and salts are given, so it writes the
     * prepared events byte for byte, and throws if its last digest differs. It checks neither bounds, nor the expected head, nor
     * the store's files; it does not wait for other appends, and returns no result.
     */
    sealing({ stream, batch, events, envelopes }: Appends): () => void {
      const number = numberOf(stream);
      // Objects to fill in, so that copying takes no time.
      const rows = envelopes.map((envelope, index) => ({
        envelope: { ...envelope, data: "", dataDigest: "", digest: "" },
        event: events[index]?.event ?? { type: "", version: 1, data: {} },
        salts: envelope.data
          .split("\n")
          .slice(1)
          .map((line) => line.slice(0, 22)),
      }));
      return () => {
        let previous = firstPrevious(stream);
        for (let start = 0; start < rows.length; start += batch) {
          const part = rows.slice(start, start + batch);
          for (const { envelope, event, salts } of part) {
            let salt = 0;
            envelope.data = linesOf(event.data, event, () => salts[salt++] ?? "");
            envelope.dataDigest = linesDigest(envelope.data);
            previous = chainDigest(previous, envelope);
            envelope.digest = previous;
          }
          whole(() => {
            moveHead.get(part.at(-1)?.envelope.revision ?? 0, previous, number);
            for (const { envelope } of part) insert.get(...eventParameters(number, envelope));
          });
        }
        if (previous !== envelopes.at(-1)?.digest) throw new Error(`${stream} was sealed as something else`);
      };
    },

    /** The digest of a stream's rows without their positions, to check that two works wrote the same rows. */
    rowsDigest(stream: string): string {
      const rows = database.prepare(
        `SELECT events.* FROM events JOIN streams ON streams.number = events.stream WHERE streams.name = ? ORDER BY events.revision`,
      );
      const values = rows.all(stream).map(({ position: _, stream: __, ...row }) => row);
      return sha256Hex(JSON.stringify(values));
    },

    [Symbol.dispose]() {
      database.close();
    },
  };
}
