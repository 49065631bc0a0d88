import type { DatabaseSync } from "node:sqlite";

/** Does the work in one transaction; what it throws undoes all of it. */
export function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec("COMMIT");
  } catch (error) {
    tryExec(database, "ROLLBACK");
    throw error;
  }
}

/**
 * Does the work so that it can fail alone, inside a transaction, and answers what it threw, if it threw. Throws it when
 * the transaction as a whole is lost with it.
 */
export function inSavepoint(database: DatabaseSync, work: () => void): { readonly error: unknown } | null {
  database.exec("SAVEPOINT part");
  try {
    work();
    database.exec("RELEASE part");
    return null;
  } catch (error) {
    if (!tryExec(database, "ROLLBACK TO part; RELEASE part")) throw error;
    return { error };
  }
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
