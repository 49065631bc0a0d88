import type { LeasePace } from "../leases/lease-watch.ts";
import { createLeaseLiveness, type LeaseLiveness } from "../leases/liveness.ts";
import type { Database } from "./database.ts";
import type { LeaseTask } from "./lease-renewal.ts";

export type LivenessOptions = {
  readonly pace: LeasePace;
  readonly closing: AbortSignal;
  readonly warn: (message: string) => void;
};

/** Leases are rows, each renewed by a thread of its holder's process. */
export function createLiveness(database: Database, { pace, closing, warn }: LivenessOptions): LeaseLiveness {
  const { address, refuseIfClosed } = database;
  const text = `SELECT renewals::float8 AS renewals FROM ${address.schema}.leases WHERE id = $1`;
  return createLeaseLiveness({
    ...{ pace, shown: address.shown, closing, warn, refuseIfClosed },
    // They are errors of the port already.
    translate: (error) => error,
    async look(leaseId) {
      let hasFailed = false;
      const onFailure = (): void => {
        hasFailed = true;
      };
      const rows = await database.rows<{ readonly renewals: number }>(text, [leaseId], { signal: closing, onFailure });
      return { sight: rows[0]?.renewals ?? "none", hasFailed };
    },
    threadOf(leaseId) {
      const task: LeaseTask = { address, leaseId, pace };
      return { store: "postgres", task, deadlineMs: address.deadlineMs };
    },
  });
}
