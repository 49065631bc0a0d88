import { innerSignal, rejectionOf } from "../../base/abort.ts";
import { messageOf } from "../../base/error-message.ts";
import { randomId } from "../../log/codec/ids.ts";
import type { Liveness } from "../../log/ports/liveness.ts";
import { backgroundTime } from "../time.ts";
import { EsdbFailure } from "./failure.ts";
import { type HeldLease, startHolder } from "./lease-holder.ts";
import { leaseEnded } from "./lease-stream.ts";
import { createLeaseWatch, type LeasePace, type LeaseSight } from "./lease-watch.ts";
import { readMessages } from "./read-call.ts";
import type { Session } from "./session.ts";

export type EventStoreDbLiveness = Required<Liveness> & {
  /** Releases the lease. */
  readonly end: () => Promise<void>;
};

const leasePattern = /^lse_\w+$/;

/**
 * A lease is a separate stream on the server, to which a thread of the holder's process appends while the process is alive. Its events
 * are not part of the store: reads of the log do not return them.
 */
export function createLiveness(session: Session, pace: LeasePace): EventStoreDbLiveness {
  const { address, closing, names, refuseIfClosed, translate } = session;
  let held: { readonly id: string; readonly lease: Promise<HeldLease | null> } | null = null;
  let hasWarned = false;
  const seconds = Math.ceil(pace.deadAfterMs / 1_000);

  async function start(id: string): Promise<HeldLease | null> {
    const forget = (): void => {
      if (held?.id === id) held = null;
    };
    try {
      return await startHolder(
        { address, name: names.lease(id), pace },
        {
          closing,
          onTrouble(kind, reason) {
            if (kind === "lost") forget();
            const what =
              kind === "lost"
                ? `nothing at ${address.shown} shows any longer that this process is alive`
                : `for ${seconds} s nothing at ${address.shown} showed that this process is alive`;
            session.warn(
              `${what} (${reason}): other processes may take over its open runs, and the next append of a run that was taken over is rejected`,
            );
          },
        },
      );
    } catch (error) {
      forget();
      const what = `this process could write nothing at ${address.shown} to show that it is alive`;
      const follows = "so other machines and containers wait for takeoverAfterMs before they take over its runs";
      // The next run tries again.
      if (!hasWarned && !closing.aborted) session.warn(`${what}, ${follows}: ${messageOf(error)}`);
      hasWarned = true;
      return null;
    }
  }

  async function sightOf(leaseId: string, silenceMs: number): Promise<LeaseSight> {
    const { connection } = session;
    const range = { name: names.lease(leaseId), from: "end", direction: "backwards", count: 1 } as const;
    const call = { signal: closing, silenceMs, isShort: true };
    try {
      for await (const messages of readMessages(connection, connection.messages.readStream(range), call))
        for (const { event } of messages)
          if (event !== null) return event.type === leaseEnded ? "ended" : event.revision;
    } catch (error) {
      if (!(error instanceof EsdbFailure) || error.kind !== "deleted") throw error;
    }
    return "none";
  }

  async function look(leaseId: string): Promise<{ readonly sight: LeaseSight; readonly hasFailed: boolean }> {
    const patience = session.patience(closing);
    for (let hasFailed = false; ; hasFailed = true) {
      try {
        // What this process has seen of the log must be readable, and with it any lease acquired before.
        await session.sameStore.confirm(patience, closing);
        return { sight: await sightOf(leaseId, Math.min(address.silenceMs.read, patience.leftMs())), hasFailed };
      } catch (error) {
        await patience.wait(error);
        if (closing.aborted) throw error;
      }
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
      throw translate(error, { action: "read", stream: names.lease(leaseId) });
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
