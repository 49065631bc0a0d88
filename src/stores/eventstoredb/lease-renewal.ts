import { messageOf } from "../../base/error-message.ts";
import { type LeaseNews, renewLease } from "../leases/lease-renewal.ts";
import type { LeasePace } from "../leases/lease-watch.ts";
import type { Address } from "./address.ts";
import { connect } from "./connection.ts";
import { EsdbFailure, portError } from "./failure.ts";
import { createLeaseStream, leaseEnded, leaseRenewed } from "./lease-stream.ts";

/** What the thread of a lease is started with. */
export type LeaseTask = {
  readonly address: Address;
  /** The server's name of the lease's stream. */
  readonly name: string;
  readonly pace: LeasePace;
};

type Renewing = { readonly ending: AbortSignal; readonly say: (news: LeaseNews) => void };

/** Holds a lease, on its own connection, until the signal aborts, and then ends it. Reports every problem. */
export async function holdLease(task: LeaseTask, renewing: Renewing): Promise<void> {
  const { address, name, pace } = task;
  const reasonOf = (error: unknown): string =>
    messageOf(
      error instanceof EsdbFailure ? portError(error, address.shown, { action: "append", stream: name }) : error,
    );
  try {
    const connection = await connect(address);
    try {
      const { signal } = new AbortController();
      const stream = await createLeaseStream(connection, { name, address, signal });
      const shown = async (type: string, end: AbortSignal): Promise<void> => {
        await stream.write(type, end);
        await stream.shown(end);
      };
      const lease = {
        acquire: (end: AbortSignal) => shown(leaseRenewed, end),
        renew: (end: AbortSignal) => stream.write(leaseRenewed, end),
        end: (end: AbortSignal) => shown(leaseEnded, end),
      };
      const isGone = (error: Error): boolean => error instanceof EsdbFailure && error.kind === "behind";
      await renewLease(lease, { ...renewing, pace, isGone, reasonOf });
    } finally {
      connection.release();
    }
  } catch (error) {
    renewing.say({ kind: "lost", reason: reasonOf(error) });
  }
}
