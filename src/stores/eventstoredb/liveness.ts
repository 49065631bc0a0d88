import type { LeasePace, LeaseSight } from "../leases/lease-watch.ts";
import { createLeaseLiveness, type LeaseLiveness } from "../leases/liveness.ts";
import { EsdbFailure } from "./failure.ts";
import type { LeaseTask } from "./lease-renewal.ts";
import { leaseEnded } from "./lease-stream.ts";
import { readMessages } from "./read-call.ts";
import type { Session } from "./session.ts";

/** Leases are separate streams on the server. Their events are not part of the store: reads of the log do not return them. */
export function createLiveness(session: Session, pace: LeasePace): LeaseLiveness {
  const { address, closing, names, refuseIfClosed, translate } = session;

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

  return createLeaseLiveness({
    ...{ pace, shown: address.shown, closing, refuseIfClosed, look },
    warn: (message) => {
      session.warn(message);
    },
    threadOf(leaseId) {
      const task: LeaseTask = { address, name: names.lease(leaseId), pace };
      return { store: "eventstoredb", task, deadlineMs: address.deadlineMs };
    },
    translate: (error, leaseId) => translate(error, { action: "read", stream: names.lease(leaseId) }),
  });
}
