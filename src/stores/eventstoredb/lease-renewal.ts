import { messageOf } from "../../base/error-message.ts";
import { realTime } from "../time.ts";
import type { Address } from "./address.ts";
import { connect } from "./connection.ts";
import { EsdbFailure, portError } from "./failure.ts";
import { createLeaseStream, type LeaseStream, leaseEnded, leaseRenewed } from "./lease-stream.ts";
import type { LeasePace } from "./lease-watch.ts";

/** What the thread of a lease is started with. */
export type LeaseTask = {
  readonly address: Address;
  /** The server's name of the lease's stream. */
  readonly name: string;
  readonly pace: LeasePace;
};

/** Messages from the thread of a lease. */
export type LeaseNews =
  | { readonly kind: "held" }
  | { readonly kind: "ended" }
  /** It could not be acquired, or is no longer held: the server rejects it, or was set back. */
  | { readonly kind: "lost"; readonly reason: string }
  /** It was not renewed for so long that others may consider its holder dead. */
  | { readonly kind: "late"; readonly reason: string };

type Renewing = { readonly ending: AbortSignal; readonly say: (news: LeaseNews) => void };

/** Holds a lease, on its own connection, until the signal aborts, and then ends it. Reports every problem. */
export async function renewLease(task: LeaseTask, renewing: Renewing): Promise<void> {
  try {
    await renew(task, renewing);
  } catch (error) {
    renewing.say({ kind: "lost", reason: reasonOf(error, task) });
  }
}

async function renew(task: LeaseTask, { ending, say }: Renewing): Promise<void> {
  const { address, name } = task;
  const connection = await connect(address);
  const { signal } = new AbortController();
  try {
    const lease = await createLeaseStream(connection, { name, address, signal });
    await lease.write(leaseRenewed, signal);
    await lease.shown(signal);
    say({ kind: "held" });
    const isRenewed = await goOn(lease, task, { ending, say });
    // Do not wait for a server that did not answer: others then see the same as when a process was killed.
    if (isRenewed) {
      await lease.write(leaseEnded, signal);
      await lease.shown(signal);
    }
    say({ kind: "ended" });
  } finally {
    connection.release();
  }
}

/** The pause after a failed renewal: short compared to the time after which others consider the holder dead. */
const pauseAfterFailureMs = 1_000;

/** Renews a lease until the signal aborts, even while the server is unreachable. Returns whether the last renewal succeeded. */
async function goOn(lease: LeaseStream, task: LeaseTask, { ending, say }: Renewing): Promise<boolean> {
  const { renewMs, deadAfterMs } = task.pace;
  let renewedAt = realTime.nowMs();
  let failure: Error | null = null;
  let isLate = false;
  for (;;) {
    await realTime.wait(failure === null ? renewMs : Math.min(renewMs, pauseAfterFailureMs), ending);
    if (ending.aborted) return failure === null;
    try {
      await lease.write(leaseRenewed, ending);
      renewedAt = realTime.nowMs();
      failure = null;
      isLate = false;
    } catch (error) {
      if (!(error instanceof Error) || (error instanceof EsdbFailure && error.kind === "behind")) throw error;
      failure = error;
      const mayCountAsDead = realTime.nowMs() - renewedAt >= deadAfterMs;
      if (mayCountAsDead && !isLate) say({ kind: "late", reason: reasonOf(error, task) });
      isLate ||= mayCountAsDead;
    }
  }
}

const reasonOf = (error: unknown, { address, name }: LeaseTask): string =>
  messageOf(error instanceof EsdbFailure ? portError(error, address.shown, { action: "append", stream: name }) : error);
