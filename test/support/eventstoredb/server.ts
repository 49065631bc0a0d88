import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCertificate } from "./certificate.ts";
import { EventLog, type ProposedEvent } from "./event-log.ts";
import { Node } from "./node.ts";
import type { Member, NodeContext } from "./node-context.ts";
import { connectionString, type EventStoreDbServer, NodeServer } from "./node-server.ts";
import { kind, type Unkindness } from "./unkindness.ts";
import type { User } from "./users.ts";

export type { ProposedEvent, StoredEvent } from "./event-log.ts";
export type { Fault } from "./faults.ts";
export type { EventStoreDbServer } from "./node-server.ts";

export interface EventStoreDbServerOptions {
  /** TLS with a certificate of its own, and authentication. Default false: an insecure server, which lets everybody in. */
  readonly tls?: boolean;
  /** Who may come in over TLS, by name. `admin` with `changeit` is always there. */
  readonly users?: Readonly<
    Record<string, { readonly password: string; readonly isAdmin?: boolean; readonly mayWrite?: boolean }>
  >;
  /** `MaxAppendSize` of 24.10 is 1 MiB for the whole append, the default here. */
  readonly maxAppendBytes?: number;
  /** Default 2000, as on the real server. */
  readonly writeTimeoutMs?: number;
  /** Which way of appending the server offers: `unimplemented` is a server before 21.10. Default `batch`. */
  readonly features?: NodeContext["features"];
  /** Where the log begins. Default just beyond 2^53. */
  readonly firstPosition?: bigint;
  /** How many ids make a repeated append at `any` harmless. Default 0: the real one forgets at its leisure. */
  readonly rememberedIds?: number;
  /** What the real servers do to their clients. Default nothing of it. */
  readonly unkindness?: Partial<Unkindness>;
  /** Milliseconds since 1970, for the age of events and the deadlines of appends. */
  readonly now?: () => number;
}

export interface EventStoreDbCluster extends AsyncDisposable {
  readonly nodes: readonly EventStoreDbServer[];
  /** `esdb://a,b,c`: the client asks for the leader by gossip. */
  readonly connectionString: string;
  /** Null while the leader is dead and none was elected: the others answer "not ready". */
  readonly leader: EventStoreDbServer | null;
  /** Makes a node the leader: what the former one had not replicated is lost. */
  elect(node: EventStoreDbServer): void;
  /**
   * Cuts a node off from the others, and not from its clients: a leader believes that it leads, serves reads of what it
   * had, and can replicate nothing. It notices with `resign`.
   */
  cutOff(node: EventStoreDbServer): void;
  /** The node that was cut off has noticed, and answers that it is not ready. */
  resign(node: EventStoreDbServer): void;
  /** The node is with the others again, and follows whom they elected. */
  rejoin(node: EventStoreDbServer): void;
  stop(): Promise<void>;
}

/** An event for `write` and for the foreign events of a fault; JSON unless bytes are given. */
export const anEvent = (type: string, data: unknown = {}, id: string = randomUUID()): ProposedEvent => ({
  id,
  type,
  isJson: !(data instanceof Uint8Array),
  data: data instanceof Uint8Array ? data : Buffer.from(JSON.stringify(data)),
  metadata: new Uint8Array(),
});

/** Starts one server on a free port of loopback; it is the leader. */
export async function startEventStoreDbServer(options: EventStoreDbServerOptions = {}): Promise<EventStoreDbServer> {
  const cluster = await startEventStoreDbCluster({ ...options, nodes: 1 });
  const [server] = cluster.nodes;
  if (server === undefined) throw new Error("A cluster of one has no node.");
  return server;
}

/** Starts several servers over one log; the first is the leader. Followers hand writes on, unless a leader is required. */
export async function startEventStoreDbCluster(
  options: EventStoreDbServerOptions & { readonly nodes: number },
): Promise<EventStoreDbCluster> {
  const { firstPosition = 2n ** 53n + 1n, rememberedIds = 0, now = Date.now } = options;
  const unkindness: Unkindness = { ...kind, ...options.unkindness };
  const log = new EventLog({ firstPosition, rememberedIds, replicationMs: unkindness.replicationMs, now });
  const certificate = options.tls === true ? createCertificate() : null;
  const directory = certificate === null ? null : mkdtempSync(join(tmpdir(), "esdb-test-server-"));
  const certificateFile = directory === null ? null : join(directory, "ca.crt");
  if (certificate !== null && certificateFile !== null) writeFileSync(certificateFile, certificate.certificatePem);
  const nodes: Node[] = [];
  let elected = 0;
  const resigned = new Set<Node>();
  const members = (viewer: Node): readonly Member[] =>
    nodes.map((node, index) => ({
      endpoint: node.endpoint,
      isAlive: node.isAlive && (node === viewer || (!node.isCutOff() && !viewer.isCutOff())),
      role: viewer.isCutOff()
        ? node === viewer && !resigned.has(node)
          ? "leader"
          : "leaderless"
        : roleOf(nodes, elected, index),
    }));
  const nodeOf = (server: EventStoreDbServer): Node => {
    const node = nodes.find(({ endpoint }) => endpoint.port === server.port);
    if (node === undefined) throw new Error("The server is no node of this cluster.");
    return node;
  };
  for (let index = 0; index < options.nodes; index += 1) {
    nodes.push(
      new Node({
        log,
        certificate,
        members,
        unkindness,
        users: options.tls === true ? userMap(options.users) : null,
        maxAppendBytes: options.maxAppendBytes ?? 1024 * 1024,
        writeTimeoutMs: options.writeTimeoutMs ?? 2000,
        features: options.features ?? "batch",
      }),
    );
  }
  for (const node of nodes) await node.start();
  const cleanUp = (): void => {
    if (directory !== null && nodes.every(({ isAlive }) => !isAlive))
      rmSync(directory, { recursive: true, force: true });
  };
  const servers = nodes.map((node) => new NodeServer(node, certificateFile, cleanUp));
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  return {
    nodes: servers,
    connectionString: connectionString(
      nodes.map(({ endpoint }) => endpoint),
      certificateFile,
      "admin:changeit",
    ),
    get leader() {
      return nodes[elected]?.isAlive === true ? (servers[elected] ?? null) : null;
    },
    elect: (server) => {
      const node = nodeOf(server);
      if (nodes[elected] === node) return;
      elected = nodes.indexOf(node);
      log.loseUnreplicated();
      node.lead();
    },
    cutOff: (server) => {
      const node = nodeOf(server);
      if (nodes[elected] !== node) resigned.add(node);
      node.cutOff();
    },
    resign: (server) => {
      resigned.add(nodeOf(server));
    },
    rejoin: (server) => {
      resigned.delete(nodeOf(server));
      nodeOf(server).rejoin();
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function roleOf(nodes: readonly Node[], elected: number, index: number): Member["role"] {
  const leader = nodes[elected];
  if (leader?.isAlive !== true || leader.isCutOff()) return "leaderless";
  return index === elected ? "leader" : "follower";
}

function userMap(users: EventStoreDbServerOptions["users"]): ReadonlyMap<string, User> {
  const admin: User = { name: "admin", password: "changeit", isAdmin: true, mayWrite: true };
  const others = Object.entries(users ?? {}).map(
    ([name, { password, isAdmin = false, mayWrite = true }]): User => ({ name, password, isAdmin, mayWrite }),
  );
  return new Map([admin, ...others].map((user) => [user.name, user]));
}
