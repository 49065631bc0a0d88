import type { Metadata } from "@grpc/grpc-js";
import type { Calls } from "./calls.ts";
import type { EventLog } from "./event-log.ts";
import { CallError, type Endpoint } from "./failures.ts";
import { type ArmedFault, type Faults, failureOf, type Operation } from "./faults.ts";
import type { Unkindness } from "./unkindness.ts";
import { mayAccess, type User } from "./users.ts";

/** What a member of the cluster tells about another. */
export interface Member {
  readonly endpoint: Endpoint;
  readonly isAlive: boolean;
  readonly role: "leader" | "follower" | "leaderless";
}

/** What the services need of the node that they run on. */
export interface NodeContext {
  readonly log: EventLog;
  readonly faults: Faults;
  readonly calls: Calls;
  readonly unkindness: Unkindness;
  readonly maxAppendBytes: number;
  /** Milliseconds after which an append that never became complete, or was never replicated, is answered with a time-out. */
  readonly writeTimeoutMs: number;
  /** How `GetSupportedMethods` answers: with batch append, without it, or not at all (servers before 21.10). */
  readonly features: "batch" | "classic" | "unimplemented";
  /** Null on an insecure node, which ignores credentials and lets everybody do everything. */
  readonly users: ReadonlyMap<string, User> | null;
  /** How many records of the log this node knows: a follower may lag behind. */
  limit(): number;
  members(): readonly Member[];
  self(): Member;
  /** Whether the other nodes cannot be reached from this one, which may not have noticed yet. */
  isCutOff(): boolean;
  /** Drops the connection of a client, with all of its calls. */
  dropConnection(peer: string): void;
  /** Calls back when `limit` may have risen, until the returned function is called. */
  onChange(listener: () => void): () => void;
  die(how: "kill" | "restart"): void;
}

/** Counts a call, and refuses it as authentication, authorization and leadership demand. */
export function admit(
  node: NodeContext,
  metadata: Metadata,
  call: { readonly operation: Operation; readonly stream: string; readonly path?: "batch" | "classic" },
): void {
  const requiresLeader = metadata.get("requires-leader")[0]?.toString() === "true";
  const user = authenticate(node, metadata);
  node.calls.note({ ...call, requiresLeader, user: user?.name ?? null });
  if (node.users !== null && !mayAccess(user, call.operation, call.stream))
    throw new CallError({ kind: "access-denied" });
  demandRole(node, metadata);
}

/** What is asked again for every page of a read and of a subscription that catches up. */
export function demandRole(node: NodeContext, metadata: Metadata): void {
  const requiresLeader = metadata.get("requires-leader")[0]?.toString() === "true";
  const { role } = node.self();
  if (role === "leaderless") throw new CallError({ kind: "not-ready" });
  if (role === "follower" && requiresLeader) throw notLeader(node);
}

/** Bad credentials are refused by the web server in front of the handlers: even where none were needed. */
export function authenticate(node: NodeContext, metadata: Metadata): User | null {
  const [header] = metadata.get("authorization");
  if (node.users === null || header === undefined) return null;
  const text = Buffer.from(header.toString().replace(/^Basic /, ""), "base64").toString("utf8");
  const colon = text.indexOf(":");
  const user = node.users.get(text.slice(0, colon));
  if (user?.password !== text.slice(colon + 1)) throw new CallError({ kind: "unauthenticated" });
  return user;
}

const notLeader = (node: NodeContext): CallError => {
  const leader = node.members().find(({ role, isAlive }) => isAlive && role === "leader");
  return new CallError({ kind: "not-leader", leader: leader?.endpoint ?? null });
};

/**
 * Lets a fault hit: settles with true where the call goes on, with false where nothing more may be said on it.
 *
 * @throws {CallError} the refusal that the fault stands for.
 */
export async function act(node: NodeContext, armed: ArmedFault): Promise<boolean> {
  const { fault } = armed;
  armed.strike();
  if (fault.foreign !== undefined) node.log.append(fault.foreign.stream, "any", fault.foreign.events);
  if (fault.outcome === "hold") {
    await armed.released;
    return true;
  }
  if (fault.outcome === "not-leader") throw notLeader(node);
  const failure = failureOf(fault.outcome, node.maxAppendBytes);
  if (failure !== null) throw new CallError(failure);
  if (fault.outcome === "kill" || fault.outcome === "restart") node.die(fault.outcome);
  return false;
}
