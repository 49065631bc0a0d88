import { readFileSync } from "node:fs";
import { hostname, uptime } from "node:os";
import type { Owner } from "../../domain/events/run-events.ts";
import { randomId } from "../ids.ts";

/** This process, as the owner of its runs (MODEL 8). */
export const thisProcess: Owner = {
  processId: randomId("prc"),
  bootId: bootId(),
  host: hostname(),
  pid: process.pid,
  startedAt: startOf(process.pid) ?? new Date(Date.now() - process.uptime() * 1000).toISOString(),
};

/** What can be said of an owner here; nothing of one on another machine, or of another boot of this one. */
export type Life = "alive" | "dead" | "unknown";

export function lifeOf(owner: Owner): Life {
  if (owner.bootId !== thisProcess.bootId || owner.host !== thisProcess.host) return "unknown";
  return isDead(owner) ? "dead" : "alive";
}

/** Whether an owner is certainly dead: the same boot of the same machine, and no process of that number and start. */
export function isDead(owner: Owner): boolean {
  if (owner.bootId !== thisProcess.bootId || owner.host !== thisProcess.host) return false;
  if (owner.pid === process.pid) return owner.processId !== thisProcess.processId;
  if (!exists(owner.pid)) return true;
  const start = startOf(owner.pid);
  return start !== null && start !== owner.startedAt;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, and someone else's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Linux names each boot; elsewhere the moment of booting, to ten seconds, tells two apart. */
function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return `boot-${Math.round((Date.now() / 1000 - uptime()) / 10)}`;
  }
}

/** When a process began, in clock ticks since boot; null where the system does not tell. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The 22nd field (proc(5)); the second may hold spaces and ends with the last parenthesis.
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return ticks === undefined ? null : `ticks-${ticks}`;
  } catch {
    return null;
  }
}
