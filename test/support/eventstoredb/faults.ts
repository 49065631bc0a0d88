import { status } from "@grpc/grpc-js";
import type { ProposedEvent } from "./event-log.ts";
import type { Failure } from "./failures.ts";

export type Operation = "append" | "read" | "subscribe" | "delete" | "features" | "gossip";

/**
 * How a disturbed call goes on.
 *
 * - `reset`: the call ends with UNAVAILABLE, `cancel`: with CANCELLED (what a server sees off on shutdown).
 * - `silence`: nothing more is ever said on this call (an append of a batch: about this append).
 * - `hold`: it waits until `release()`, then goes on as if nothing had been.
 * - `kill`: the node dies as by `kill -9`; `restart`: it dies and is back on its port at once, with its data.
 * - the rest is the server's own refusal. `timeout` (a commit time-out) leaves open whether the events were written.
 */
export type FaultOutcome =
  | "reset"
  | "cancel"
  | "silence"
  | "hold"
  | "kill"
  | "restart"
  | "timeout"
  | "not-ready"
  | "not-leader"
  | "access-denied"
  | "too-large"
  | { readonly code: status; readonly details: string };

export interface Fault {
  readonly on: Operation;
  /** Which matching call is hit, from 1, counted from the injection. Default 1. */
  readonly nth?: number;
  /** Hits every matching call from the n-th on, not only the n-th. */
  readonly everySince?: boolean;
  /** Only calls on streams whose name begins so (`$all` for reads of it). */
  readonly stream?: string;
  /**
   * Appends: before anything was stored (default), after all was stored, or on the first message of the append, which
   * may not be its last (a reset in mid-batch).
   */
  readonly when?: "before" | "after" | "first-chunk";
  /** Reads and subscriptions: after so many events were sent. Default 0. */
  readonly afterEvents?: number;
  /** Another writer's events, stored after the disturbed append and before the call goes on. */
  readonly foreign?: { readonly stream: string; readonly events: readonly ProposedEvent[] };
  readonly outcome: FaultOutcome;
}

/** A fault waiting for its call. */
export interface InjectedFault {
  readonly fault: Fault;
  /** How many calls it has hit. */
  readonly hits: number;
  /** Settles at the first hit. */
  readonly struck: Promise<undefined>;
  /** Lets held calls go on, now and later. */
  release(): void;
}

/** What a handler holds of a fault that may hit its call. */
export interface ArmedFault {
  readonly fault: Fault;
  strike(): void;
  readonly released: Promise<undefined>;
}

interface Entry {
  seen: number;
  hits: number;
  readonly armed: ArmedFault;
}

/** The faults of one node, in order of injection: the first that matches a call takes it. */
export class Faults {
  #entries: Entry[] = [];

  inject(fault: Fault): InjectedFault {
    const struck = Promise.withResolvers<undefined>();
    const released = Promise.withResolvers<undefined>();
    const strike = (): void => {
      entry.hits += 1;
      struck.resolve(undefined);
    };
    const entry: Entry = { seen: 0, hits: 0, armed: { fault, strike, released: released.promise } };
    this.#entries.push(entry);
    return {
      fault,
      get hits() {
        return entry.hits;
      },
      struck: struck.promise,
      release: () => released.resolve(undefined),
    };
  }

  /** Counts the call, and gives the fault that is to hit it. */
  take(operation: Operation, stream = ""): ArmedFault | null {
    let taken: ArmedFault | null = null;
    for (const entry of this.#entries) {
      const { on, nth = 1, everySince = false, stream: prefix = "" } = entry.armed.fault;
      if (on !== operation || !stream.startsWith(prefix)) continue;
      entry.seen += 1;
      if (taken === null && (everySince ? entry.seen >= nth : entry.seen === nth)) taken = entry.armed;
    }
    return taken;
  }

  clear(): void {
    this.#entries = [];
  }
}

/** The refusal that an outcome means; null if it is not a refusal. */
export function failureOf(outcome: FaultOutcome, maxBytes: number): Failure | null {
  if (typeof outcome === "object") return { kind: "status", ...outcome };
  switch (outcome) {
    case "reset":
      return { kind: "status", code: status.UNAVAILABLE, details: "Connection dropped" };
    case "cancel":
      return { kind: "status", code: status.CANCELLED, details: "Call cancelled" };
    case "too-large":
      return { kind: "too-large", maxBytes };
    case "not-leader":
      return { kind: "not-leader", leader: null };
    case "timeout":
    case "not-ready":
    case "access-denied":
      return { kind: outcome };
    default:
      return null;
  }
}
