import { randomUUID } from "node:crypto";
import { type Metadata, type sendUnaryData, status } from "@grpc/grpc-js";
import { asCallError, CallError } from "./failures.ts";
import type { Operation } from "./faults.ts";
import { act, authenticate, type Member, type NodeContext } from "./node-context.ts";
import { features, gossip, shared } from "./protocol.ts";

type SupportedMethods = InstanceType<typeof features.SupportedMethods>;
type ClusterInfo = InstanceType<typeof gossip.ClusterInfo>;

interface Call {
  readonly metadata: Metadata;
}

/** What a 24.10 server lists of the services that exist here: names in lower case. */
const methods: readonly (readonly [string, readonly string[]])[] = [
  ["read", ["position", "events"]],
  ["append", []],
  ["delete", []],
  ["tombstone", []],
  ["batchappend", ["deadline_duration"]],
];

/** `ServerFeatures/GetSupportedMethods`: asked by the client before its first append. */
export function serveFeatures(node: NodeContext, call: Call, callback: sendUnaryData<SupportedMethods>): void {
  serve(node, call, "features", callback, () => {
    if (node.features === "unimplemented") {
      throw new CallError({ kind: "status", code: status.UNIMPLEMENTED, details: "Unknown method" });
    }
    const supported = new features.SupportedMethods().setEventStoreServerVersion("24.10.0");
    for (const [name, list] of methods) {
      if (name === "batchappend" && node.features === "classic") continue;
      const method = new features.SupportedMethod().setServiceName("event_store.client.streams.streams");
      supported.addMethods(method.setMethodName(name).setFeaturesList([...list]));
    }
    return supported;
  });
}

/** `Gossip/Read`: asked by the client while it looks for a node to talk to. */
export function serveGossip(node: NodeContext, call: Call, callback: sendUnaryData<ClusterInfo>): void {
  serve(node, call, "gossip", callback, () => {
    const info = new gossip.ClusterInfo();
    for (const member of node.members()) info.addMembers(memberInfo(member, node.log.options.now()));
    return info;
  });
}

const { FOLLOWER, LEADER, UNKNOWN } = gossip.MemberInfo.VNodeState;
const states = { follower: FOLLOWER, leader: LEADER, leaderless: UNKNOWN };

function memberInfo({ endpoint, isAlive, role }: Member, nowMs: number): InstanceType<typeof gossip.MemberInfo> {
  const info = new gossip.MemberInfo();
  info.setInstanceId(new shared.UUID().setString(randomUUID()));
  info.setTimeStamp((BigInt(Math.trunc(nowMs)) * 10_000n).toString());
  info.setState(states[role]).setIsAlive(isAlive);
  return info.setHttpEndPoint(new gossip.EndPoint().setAddress(endpoint.host).setPort(endpoint.port));
}

function serve<T>(
  node: NodeContext,
  { metadata }: Call,
  operation: Operation & ("features" | "gossip"),
  callback: sendUnaryData<T>,
  answer: () => T,
): void {
  const run = async (): Promise<T | null> => {
    const user = authenticate(node, metadata);
    node.calls.note({ operation, stream: "", requiresLeader: false, user: user?.name ?? null });
    const fault = node.faults.take(operation);
    if (fault !== null && !(await act(node, fault))) return null;
    return answer();
  };
  run().then(
    (response) => {
      // Null: a fault said that nothing is ever answered.
      if (response !== null) callback(null, response);
    },
    (error: unknown) => callback(asCallError(error)),
  );
}
