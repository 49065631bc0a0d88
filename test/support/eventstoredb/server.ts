import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenCall, SeenCall } from "./calls.ts";
import { createCertificate } from "./certificate.ts";
import {
  type AppendOutcome,
  EventLog,
  type ExpectedRevision,
  type ProposedEvent,
  type StoredEvent,
} from "./event-log.ts";
import type { Endpoint } from "./failures.ts";
import type { Fault, InjectedFault } from "./faults.ts";
import { LOOPBACK, Node } from "./node.ts";
import type { Member, NodeContext } from "./node-context.ts";
import type { User } from "./users.ts";

export type { ProposedEvent, StoredEvent } from "./event-log.ts";
export type { Fault } from "./faults.ts";

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
  /** Milliseconds since 1970, for the age of events and the deadlines of appends. */
  readonly now?: () => number;
}

/** A server that the real client talks gRPC to, with what a test may do to it. */
export interface EventStoreDbServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** `esdb://…` for this node alone; over TLS with the administrator's credentials and the certificate's file. */
  readonly connectionString: string;
  /** The same as `user`, over TLS. */
  connectionStringFor(user: string, password: string): string;
  /** File with the certificate that clients have to trust; null without TLS. */
  readonly certificateFile: string | null;
  inject(fault: Fault): InjectedFault;
  /** Calls that have not ended. */
  openCalls(): readonly OpenCall[];
  /** Settles when no read, subscription or append is open; rejects with the list after `timeoutMs` (default 2000). */
  idle(timeoutMs?: number): Promise<void>;
  /** Settles when the open calls satisfy the condition; rejects after `timeoutMs` (default 2000). */
  untilCalls(holds: (calls: readonly OpenCall[]) => boolean, timeoutMs?: number): Promise<void>;
  /** Calls that have begun since the last `clear`. */
  seenCalls(): readonly SeenCall[];
  /** What is stored in a stream, hidden events included; without a name the whole log. */
  events(stream?: string): readonly StoredEvent[];
  /** Writes as another client would, without a wire. */
  write(stream: string, events: readonly ProposedEvent[], expected?: ExpectedRevision): AppendOutcome;
  /** Ends as by `kill -9`; the data stay. */
  kill(): Promise<void>;
  /** Dies (`kill`, the default) or shuts down, and comes back on the same port with its data; a dead one just comes back. */
  restart(how?: "kill" | "stop"): Promise<void>;
  /** As a follower does that lags: what is written from now on is not seen on this node until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Forgets data, faults and seen calls. */
  clear(): void;
  stop(): Promise<void>;
}

export interface EventStoreDbCluster extends AsyncDisposable {
  readonly nodes: readonly EventStoreDbServer[];
  /** `esdb://a,b,c`: the client asks for the leader by gossip. */
  readonly connectionString: string;
  /** Null while the leader is dead and none was elected: the others answer "not ready". */
  readonly leader: EventStoreDbServer | null;
  elect(node: EventStoreDbServer): void;
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
  const log = new EventLog({ firstPosition, rememberedIds, now });
  const certificate = options.tls === true ? createCertificate() : null;
  const directory = certificate === null ? null : mkdtempSync(join(tmpdir(), "esdb-test-server-"));
  const certificateFile = directory === null ? null : join(directory, "ca.crt");
  if (certificate !== null && certificateFile !== null) writeFileSync(certificateFile, certificate.certificatePem);
  const nodes: Node[] = [];
  let elected = 0;
  const members = (): readonly Member[] =>
    nodes.map((node, index) => ({
      endpoint: node.endpoint,
      isAlive: node.isAlive,
      role: roleOf(nodes, elected, index),
    }));
  for (let index = 0; index < options.nodes; index += 1) {
    nodes.push(
      new Node({
        log,
        certificate,
        members,
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
      elected = nodes.findIndex(({ endpoint }) => endpoint.port === server.port);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function roleOf(nodes: readonly Node[], elected: number, index: number): Member["role"] {
  if (nodes[elected]?.isAlive !== true) return "leaderless";
  return index === elected ? "leader" : "follower";
}

function userMap(users: EventStoreDbServerOptions["users"]): ReadonlyMap<string, User> {
  const admin: User = { name: "admin", password: "changeit", isAdmin: true, mayWrite: true };
  const others = Object.entries(users ?? {}).map(
    ([name, { password, isAdmin = false, mayWrite = true }]): User => ({ name, password, isAdmin, mayWrite }),
  );
  return new Map([admin, ...others].map((user) => [user.name, user]));
}

function connectionString(endpoints: readonly Endpoint[], certificateFile: string | null, credentials: string): string {
  const hosts = endpoints.map(({ host, port }) => `${host}:${port}`).join(",");
  if (certificateFile === null) return `esdb://${hosts}?tls=false`;
  return `esdb://${credentials}@${hosts}?tls=true&tlsCAFile=${encodeURIComponent(certificateFile)}`;
}

class NodeServer implements EventStoreDbServer {
  readonly host = LOOPBACK;
  readonly certificateFile: string | null;
  readonly #node: Node;
  readonly #cleanUp: () => void;

  constructor(node: Node, certificateFile: string | null, cleanUp: () => void) {
    this.#node = node;
    this.certificateFile = certificateFile;
    this.#cleanUp = cleanUp;
  }

  get port(): number {
    return this.#node.endpoint.port;
  }

  get connectionString(): string {
    return this.connectionStringFor("admin", "changeit");
  }

  connectionStringFor(user: string, password: string): string {
    const credentials = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
    return connectionString([this.#node.endpoint], this.certificateFile, credentials);
  }

  inject(fault: Fault): InjectedFault {
    return this.#node.faults.inject(fault);
  }

  openCalls(): readonly OpenCall[] {
    return this.#node.calls.list();
  }

  idle(timeoutMs = 2000): Promise<void> {
    return this.untilCalls((calls) => calls.every(({ operation }) => operation === "batch"), timeoutMs);
  }

  untilCalls(holds: (calls: readonly OpenCall[]) => boolean, timeoutMs = 2000): Promise<void> {
    return this.#node.calls.until(holds, timeoutMs);
  }

  seenCalls(): readonly SeenCall[] {
    return this.#node.calls.seen();
  }

  events(stream?: string): readonly StoredEvent[] {
    return [...(stream === undefined ? this.#node.log.records : this.#node.log.stream(stream))];
  }

  write(stream: string, events: readonly ProposedEvent[], expected: ExpectedRevision = "any"): AppendOutcome {
    return this.#node.log.append(stream, expected, events);
  }

  kill(): Promise<void> {
    this.#node.log.forgetIds();
    return this.#node.kill();
  }

  async restart(how: "kill" | "stop" = "kill"): Promise<void> {
    await this.#node.settled();
    this.#node.log.forgetIds();
    await (how === "kill" ? this.#node.kill() : this.#node.stop());
    if (!this.#node.isAlive) await this.#node.start();
  }

  freeze(): void {
    this.#node.freeze();
  }

  thaw(): void {
    this.#node.thaw();
  }

  clear(): void {
    this.#node.log.clear();
    this.#node.faults.clear();
    this.#node.calls.forgetSeen();
  }

  async stop(): Promise<void> {
    await this.#node.settled();
    await this.#node.stop();
    this.#cleanUp();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
