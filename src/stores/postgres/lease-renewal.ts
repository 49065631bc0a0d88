import { messageOf } from "../../base/error-message.ts";
import { StoreReplacedError } from "../../log/ports/store-errors.ts";
import { type LeaseNews, renewLease } from "../leases/lease-renewal.ts";
import type { LeasePace } from "../leases/lease-watch.ts";
import type { PostgresAddress } from "./address.ts";
import { openDatabase } from "./database.ts";

/** What the thread of a lease is started with. */
export type LeaseTask = {
  readonly address: PostgresAddress;
  readonly leaseId: string;
  readonly pace: LeasePace;
};

type Renewing = { readonly ending: AbortSignal; readonly say: (news: LeaseNews) => void };

/**
 * Holds a lease, on its own connection, until the signal aborts, and then ends it. Reports every problem. A lease is a row whose number
 * grows; a holder that ends it deletes the row.
 */
export async function holdLease({ address, leaseId, pace }: LeaseTask, renewing: Renewing): Promise<void> {
  const { schema, shown } = address;
  try {
    const database = await openDatabase({ address });
    const write = (text: string, signal: AbortSignal) =>
      database.rows<{ readonly renewals: string }>(text, [leaseId], { signal });
    const lease = {
      async acquire(signal: AbortSignal) {
        // The second try of an insert whose answer was lost finds its own row. Durable, so that a crash of the server does not end the lease.
        const text = `INSERT INTO ${schema}.leases (id, renewals)
          SELECT $1, 0 FROM (SELECT pg_catalog.set_config('synchronous_commit', 'on', true)) AS durable
          ON CONFLICT (id) DO UPDATE SET renewals = leases.renewals + 1 RETURNING renewals`;
        await write(text, signal);
      },
      async renew(signal: AbortSignal) {
        const text = `UPDATE ${schema}.leases SET renewals = renewals + 1 WHERE id = $1 RETURNING renewals`;
        const rows = await write(text, signal);
        if (rows.length === 0)
          throw new StoreReplacedError(
            `${shown} no longer has what this process wrote there: a backup was restored, or it was deleted`,
          );
      },
      async end(signal: AbortSignal) {
        await write(`DELETE FROM ${schema}.leases WHERE id = $1`, signal);
      },
    };
    const isGone = (error: Error): boolean => error instanceof StoreReplacedError;
    try {
      await renewLease(lease, { ...renewing, pace, isGone, reasonOf: messageOf });
    } finally {
      database.closeConnections();
    }
  } catch (error) {
    renewing.say({ kind: "lost", reason: messageOf(error) });
  }
}
