import type { DatabaseSync } from "node:sqlite";
import { err, ok, type Result } from "../../base/result.ts";

export type Transactions = {
  /** Does the work in one transaction. An error rolls it back. */
  readonly whole: <T>(work: () => T) => T;
  /**
   * Does the work inside a transaction so that it can fail alone, and returns its error if it threw. Throws the error if
   * the whole transaction is lost with it.
   */
  readonly part: <T>(work: () => T) => Result<T, unknown>;
};

// `get` instead of `run`, which creates an object of counts for each statement.
export function createTransactions(database: DatabaseSync): Transactions {
  const [begin, commit] = [database.prepare("BEGIN IMMEDIATE"), database.prepare("COMMIT")];
  const [beginPart, endPart] = [database.prepare("SAVEPOINT part"), database.prepare("RELEASE part")];
  return {
    whole(work) {
      begin.get();
      try {
        const result = work();
        commit.get();
        return result;
      } catch (error) {
        tryExec(database, "ROLLBACK");
        throw error;
      }
    },
    part(work) {
      beginPart.get();
      try {
        const result = work();
        endPart.get();
        return ok(result);
      } catch (error) {
        if (!tryExec(database, "ROLLBACK TO part; RELEASE part")) throw error;
        return err(error);
      }
    },
  };
}

// After a full disk or a failed write SQLite has already rolled back; the first error says what happened.
function tryExec(database: DatabaseSync, sql: string): boolean {
  try {
    database.exec(sql);
    return true;
  } catch {
    return false;
  }
}
