import type { DatabaseSync } from "node:sqlite";

export type Transactions = {
  /** Does the work in one transaction; what it throws undoes all of it. */
  readonly whole: (work: () => void) => void;
  /**
   * Does the work so that it can fail alone, inside a transaction, and answers what it threw, if it threw. Throws it when
   * the transaction as a whole is lost with it.
   */
  readonly part: (work: () => void) => { readonly error: unknown } | null;
};

export function createTransactions(database: DatabaseSync): Transactions {
  const [begin, commit] = [database.prepare("BEGIN IMMEDIATE"), database.prepare("COMMIT")];
  const [beginPart, endPart] = [database.prepare("SAVEPOINT part"), database.prepare("RELEASE part")];
  return {
    whole(work) {
      begin.run();
      try {
        work();
        commit.run();
      } catch (error) {
        tryExec(database, "ROLLBACK");
        throw error;
      }
    },
    part(work) {
      beginPart.run();
      try {
        work();
        endPart.run();
        return null;
      } catch (error) {
        if (!tryExec(database, "ROLLBACK TO part; RELEASE part")) throw error;
        return { error };
      }
    },
  };
}

// After a full disk or a failed write SQLite has rolled back by itself; the first error says what happened.
function tryExec(database: DatabaseSync, sql: string): boolean {
  try {
    database.exec(sql);
    return true;
  } catch {
    return false;
  }
}
