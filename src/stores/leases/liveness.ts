import { innerSignal, rejectionOf } from "../../base/abort.ts";
import { messageOf } from "../../base/error-message.ts";
import { randomId } from "../../log/codec/ids.ts";
import type { Liveness } from "../../log/ports/liveness.ts";
import { backgroundTime } from "../time.ts";
import { type HeldLease, type LeaseThread, startHolder } from "./lease-holder.ts";
import { createLeaseWatch, type LeasePace, type LeaseSight } from "./lease-watch.ts";

export type LeaseLiveness = Required<Liveness> & {
  /** Releases the lease. */
  readonly end: () => Promise<void>;
};

export type LeaseLivenessOptions = {
  readonly pace: LeasePace;
  /** The server's address for messages. */
  readonly shown: string;
  readonly closing: AbortSignal;
  readonly refuseIfClosed: () => void;
  readonly warn: (message: string) => void;
  /** The thread that holds a lease with this id. */
  readonly threadOf: (leaseId: string) => LeaseThread;
  /** See `createLeaseWatch`. */
  readonly look: (leaseId: string) => Promise<{ readonly sight: LeaseSight; readonly hasFailed: boolean }>;
  readonly translate: (error: unknown, leaseId: string) => unknown;
};

const leasePattern = /^lse_\w+$/;

/** A lease on a server, which a thread of the holder's process renews while the process is alive. */
export function createLeaseLiveness(options: LeaseLivenessOptions): LeaseLiveness {
  const { pace, shown, closing, refuseIfClosed, warn, threadOf, look, translate } = options;
  let held: { readonly id: string; readonly lease: Promise<HeldLease | null> } | null = null;
  let hasWarned = false;
  const seconds = Math.ceil(pace.deadAfterMs / 1_000);

  async function start(id: string): Promise<HeldLease | null> {
    const forget = (): void => {
      if (held?.id === id) held = null;
    };
    try {
      return await startHolder(threadOf(id), {
        closing,
        onTrouble(kind, reason) {
          if (kind === "lost") forget();
          const what =
            kind === "lost"
              ? `nothing at ${shown} shows any longer that this process is alive`
              : `for ${seconds} s nothing at ${shown} showed that this process is alive`;
          warn(
            `${what} (${reason}): other processes may take over its open runs, and the next append of a run that was taken over is rejected`,
          );
        },
      });
    } catch (error) {
      forget();
      const what = `this process could write nothing at ${shown} to show that it is alive`;
      const follows = "so other machines and containers wait for takeoverAfterMs before they take over its runs";
      // The next run tries again.
      if (!hasWarned && !closing.aborted) warn(`${what}, ${follows}: ${messageOf(error)}`);
      hasWarned = true;
      return null;
    }
  }

  const watch = createLeaseWatch({ look, pace, time: backgroundTime, closing });

  /** Asks about a lease, and translates failures into errors of the port. */
  async function asking(leaseId: string, ask: () => Promise<boolean>): Promise<boolean> {
    refuseIfClosed();
    if (held?.id === leaseId && (await held.lease) !== null) return true;
    if (!leasePattern.test(leaseId)) return false;
    try {
      return await ask();
    } catch (error) {
      refuseIfClosed();
      throw translate(error, leaseId);
    }
  }

  return {
    deadAfterMs: pace.deadAfterMs,
    async hold() {
      refuseIfClosed();
      if (held === null) {
        const id = randomId("lse");
        held = { id, lease: start(id) };
      }
      const { id, lease } = held;
      const isHeld = (await lease) !== null;
      refuseIfClosed();
      return isHeld ? id : null;
    },
    isAlive: (leaseId) => asking(leaseId, async () => (await watch.look(leaseId)) !== "dead"),
    async whenKnown(leaseId, signal) {
      signal?.throwIfAborted();
      return asking(leaseId, async () => {
        const waiting = innerSignal(signal ?? new AbortController().signal);
        // The watch alone would not keep the process alive.
        const alive = setInterval(() => undefined, pace.deadAfterMs);
        try {
          return (await Promise.race([watch.untilKnown(leaseId), rejectionOf(waiting.signal)])) === "alive";
        } finally {
          clearInterval(alive);
          waiting.end(undefined);
        }
      });
    },
    async end() {
      const lease = await held?.lease;
      await lease?.end();
      held = null;
    },
  };
}
