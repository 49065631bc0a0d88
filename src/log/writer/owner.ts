import { readFileSync, readlinkSync } from "node:fs";
import { hostname, uptime } from "node:os";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Owner } from "../../domain/events/run-events.ts";
import { randomId } from "../codec/ids.ts";
import type { EventStore } from "../ports/event-store.ts";
import type { Liveness } from "../ports/liveness.ts";

/** The prefix of start times that can be compared. */
const ticks = "ticks-";

/**
 * This process, as the owner of its runs (rule: Run ownership). Each worker thread, and each copy of turnlog in one process, has its own
 * `processId`: each is an owner that lives as long as the process.
 */
export function thisProcess(): Owner {
  self ??= {
    processId: randomId("prc"),
    bootId: bootId(),
    host: hostname(),
    pid: process.pid,
    startedAt: startOf(process.pid) ?? new Date(Date.now() - process.uptime() * 1000).toISOString(),
    pidNamespace: pidNamespace(),
  };
  return self;
}

// Found out when it is asked for, because most commands only read.
let self: Owner | null = null;

/** This process, as the owner of a store's runs: while it is alive, the store says so (rule: Run ownership). */
export async function ownerIn({ storeId, liveness }: OwnedStore): Promise<Owner> {
  const id = (await liveness?.hold()) ?? null;
  return id === null ? thisProcess() : { ...thisProcess(), lease: { storeId, id } };
}

type OwnedStore = Pick<EventStore, "storeId" | "liveness">;

/**
 * Whether the owner of a store's run is alive. If the system knows that the process is dead, it is; otherwise the owner's lease decides,
 * if the store keeps leases and the owner holds one of them.
 */
export async function lifeIn(store: OwnedStore, owner: Owner): Promise<Life> {
  const lease = leaseIn(store, owner);
  if (lease === null) return lifeOf(owner);
  return (await lease.liveness.isAlive(lease.id)) ? "alive" : "dead";
}

/**
 * The same, but waits for a sign of the owner if its lease cannot be judged yet and the system does not know the process.
 *
 * @throws the signal's reason if it aborts.
 */
export async function knownLifeIn(store: OwnedStore, owner: Owner, signal?: AbortSignal): Promise<Life> {
  const lease = leaseIn(store, owner);
  if (lease === null || lifeOf(owner) !== "unknown") return lifeIn(store, owner);
  const { id, liveness } = lease;
  return (await (liveness.whenKnown?.(id, signal) ?? liveness.isAlive(id))) ? "alive" : "dead";
}

/** How long this process waits for a sign of an owner, if a lease decides that it is gone; undefined if that is known at once. */
export const goneAfterMs = (store: OwnedStore, owner: Owner): number | undefined =>
  leaseIn(store, owner)?.liveness.deadAfterMs;

/** The lease that decides whether an owner of a store's run is alive; null if there is none, or none is needed. */
function leaseIn({ storeId, liveness }: OwnedStore, owner: Owner): Lease | null {
  const { lease } = owner;
  if (isDead(owner) || liveness === undefined || lease?.storeId !== storeId) return null;
  return { id: lease.id, liveness };
}

type Lease = { readonly id: string; readonly liveness: Liveness };

/** Whether an owner is certainly dead: it ran on this boot of this machine, and no process has its number and start time. */
export const isDead = (owner: Owner): boolean => lifeOf(owner) === "dead";

/**
 * What the system knows of an owner: nothing of one on another machine, from another boot of this one, or in another
 * container, where the same process number means a different process.
 */
export type Life = "alive" | "dead" | "unknown";

export function lifeOf(owner: Owner): Life {
  const { bootId: boot, host, pidNamespace: namespace } = thisProcess();
  if (owner.bootId !== boot || owner.host !== host || owner.pidNamespace !== namespace) return "unknown";
  return isGone(owner) ? "dead" : "alive";
}

function isGone({ pid, startedAt }: Owner): boolean {
  if (!exists(pid) || isZombie(pid)) return true;
  const start = startOf(pid);
  // Without a known start time, a process with that number may be the owner: it counts as gone once it is silent.
  return start !== null && startedAt.startsWith(ticks) && start !== startedAt;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Linux has an id for each boot; on other systems, the boot time to ten seconds distinguishes two boots. */
function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return `boot-${Math.round((Date.now() / 1000 - uptime()) / 10)}`;
  }
}

/**
 * The scope in which process numbers are unique: on Linux, the namespace of each container; other systems have one. If Linux does not
 * say, process numbers of other owners cannot be interpreted.
 */
function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return process.platform === "linux" ? randomId("pns") : process.platform;
  }
}

/** The start time of a process, in clock ticks since boot; null if the system does not say: only Linux has `/proc`. */
function startOf(pid: number): string | null {
  const start = statOf(pid)[19];
  return start === undefined ? null : `${ticks}${start}`;
}

/** Whether a process has ended but its parent has not collected its status: it keeps its number and does nothing. */
const isZombie = (pid: number): boolean => /^[ZX]$/.test(statOf(pid)[0] ?? "");

/** The fields of `/proc/<pid>/stat` from the third on (proc(5)): the second may contain spaces and ends with the last parenthesis. */
function statOf(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** Another run of the conversation is open, and its owner is alive. */
export class RunInProgressError extends TurnlogError<"run-in-progress"> {
  override readonly name = "RunInProgressError";
  readonly runId: string;
  readonly owner: Owner | null;

  /** @param goneAfterMs - How long this process waits for a sign of an owner before it considers it gone, if a wait decides that. */
  constructor(runId: string, owner: Owner | null, goneAfterMs?: number) {
    const by = owner === null ? "" : ` by process ${owner.pid} on ${owner.host}`;
    const isHere = owner?.processId === thisProcess().processId;
    const seconds = Math.ceil((goneAfterMs ?? 0) / 1_000);
    const how = isHere
      ? "abort it"
      : goneAfterMs === undefined
        ? "take it with `takeover: true` if that process hangs or is gone"
        : `take it with \`takeover: true\` if that process hangs; if it is gone, the run is free once this process has seen no sign of it for ${seconds} s`;
    super("run-in-progress", `run ${runId} is in progress${by}; wait for it, or ${how}`);
    this.runId = runId;
    this.owner = owner;
  }
}
