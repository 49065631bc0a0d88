import { createServer, type Socket, type Server as TcpServer } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { serveBatchAppend } from "./batch-append.ts";
import { Calls } from "./calls.ts";
import type { Certificate } from "./certificate.ts";
import { serveAppend, serveDelete, serveTombstone } from "./classic-append.ts";
import { serveFeatures, serveGossip } from "./discovery.ts";
import type { EventLog } from "./event-log.ts";
import type { Endpoint } from "./failures.ts";
import { Faults } from "./faults.ts";
import type { Member, NodeContext } from "./node-context.ts";
import { GossipService, type Handlers, ServerFeaturesService, StreamsService } from "./protocol.ts";
import { serveRead } from "./read.ts";
import type { Unkindness } from "./unkindness.ts";
import type { User } from "./users.ts";

export interface NodeOptions {
  readonly log: EventLog;
  readonly unkindness: Unkindness;
  readonly maxAppendBytes: number;
  readonly writeTimeoutMs: number;
  readonly features: NodeContext["features"];
  readonly users: ReadonlyMap<string, User> | null;
  readonly certificate: Certificate | null;
  /** The cluster as a node sees it. */
  readonly members: (viewer: Node) => readonly Member[];
}

export const LOOPBACK = "127.0.0.1";

/** How far the index of a new leader may be behind. */
const lateRecords = 20;

/** What a fresh server has written itself. */
const bootRecords = 3;

/** One server process: it can die and come back on its port; the log is not its own. */
/** How long a node that ends by itself waits for its clients to close their side. */
const lingerMs = 5_000;

export class Node implements NodeContext {
  readonly log: EventLog;
  readonly faults = new Faults();
  readonly calls = new Calls();
  readonly unkindness: Unkindness;
  readonly maxAppendBytes: number;
  readonly writeTimeoutMs: number;
  readonly features: NodeContext["features"];
  readonly users: ReadonlyMap<string, User> | null;
  readonly #members: NodeOptions["members"];
  readonly #certificate: Certificate | null;
  readonly #sockets = new Set<Socket>();
  readonly #listeners = new Set<() => void>();
  #running: { readonly grpc: Server; readonly tcp: TcpServer } | null = null;
  #closing: Promise<void> = Promise.resolve();
  #port = 0;
  #frozenAt: number | null = null;
  #indexed = 0;
  #isCutOff = false;

  constructor(options: NodeOptions) {
    this.log = options.log;
    this.unkindness = options.unkindness;
    this.maxAppendBytes = options.maxAppendBytes;
    this.writeTimeoutMs = options.writeTimeoutMs;
    this.features = options.features;
    this.users = options.users;
    this.#members = options.members;
    this.#certificate = options.certificate;
    this.#indexed = this.log.replicated;
    this.log.onChange(() => this.#index());
  }

  get endpoint(): Endpoint {
    return { host: LOOPBACK, port: this.#port };
  }

  get isAlive(): boolean {
    return this.#running !== null;
  }

  /** Binds a free port the first time, and the same port ever after. */
  async start(): Promise<void> {
    await this.#closing;
    await this.#listen();
  }

  async #listen(): Promise<void> {
    const grpc = this.#createGrpcServer();
    const injector = grpc.createConnectionInjector(this.#credentials());
    // Connections are accepted here, not by grpc-js, so that a killed node can drop them as a dead process would.
    const tcp = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => socket.destroy());
      injector.injectConnection(socket);
    });
    this.#port = this.#port === 0 ? await bindFreePort(tcp) : await bind(tcp, this.#port);
    this.#running = { grpc, tcp };
  }

  /** Ends as by `kill -9`: connections break without a word, and the port refuses new ones. */
  async kill(): Promise<void> {
    await this.#close((grpc) => {
      for (const socket of this.#sockets) socket.resetAndDestroy();
      grpc.forceShutdown();
    });
    // Clients of this process hear of it before anybody connects anew: they would find the broken connection otherwise.
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Ends by itself: open calls are cancelled. */
  stop(): Promise<void> {
    return this.#close((grpc) => {
      grpc.forceShutdown();
      for (const socket of this.#sockets) {
        socket.end();
        // A client that keeps its side open would hold the server for ever.
        setTimeout(() => socket.destroy(), lingerMs).unref();
      }
    });
  }

  die(how: "kill" | "restart"): void {
    const dead = this.kill();
    if (how === "restart") this.#closing = dead.then(() => this.#listen());
    this.log.forgetIds();
  }

  /** Settles when a death or a restart that a fault began is over. */
  settled(): Promise<void> {
    return this.#closing;
  }

  limit(): number {
    return this.#frozenAt ?? Math.min(this.#indexed, this.log.replicated);
  }

  /** What is written from now on is not readable here, until it is thawed: a follower that lags, an index that is slow. */
  freeze(): void {
    this.#frozenAt ??= this.limit();
  }

  isCutOff(): boolean {
    return this.#isCutOff;
  }

  /** The other nodes cannot be reached: it learns nothing, and what it is told to write is never replicated. */
  cutOff(): void {
    this.#isCutOff = true;
    this.freeze();
  }

  rejoin(): void {
    this.#isCutOff = false;
    this.thaw();
  }

  /** It leads from now on; its index may still be on its way. */
  lead(): void {
    const { lateLeaderMs } = this.unkindness;
    if (lateLeaderMs === 0) return;
    this.#frozenAt ??= Math.max(bootRecords, this.limit() - lateRecords);
    setTimeout(() => this.thaw(), lateLeaderMs).unref();
  }

  members(): readonly Member[] {
    return this.#members(this);
  }

  dropConnection(peer: string): void {
    for (const socket of this.#sockets) if (`${socket.remoteAddress}:${socket.remotePort}` === peer) socket.destroy();
  }

  thaw(): void {
    this.#frozenAt = null;
    this.#announce();
  }

  self(): Member {
    const member = this.members().find(({ endpoint }) => endpoint.port === this.#port);
    return member ?? { endpoint: this.endpoint, isAlive: this.isAlive, role: "leader" };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #createGrpcServer(): Server {
    // A log record may have 16 MiB; the default of 4 MiB would refuse what the real server takes.
    const grpc = new Server({
      "grpc.max_receive_message_length": 16 * 1024 * 1024,
      // Kestrel's default. What a client asks beyond it, its own gRPC library keeps back without a word.
      "grpc.max_concurrent_streams": 100,
    });
    const handlers: Handlers = {
      streams: {
        read: (call) => serveRead(this, call),
        append: (call, callback) => serveAppend(this, call, callback),
        batchAppend: (call) => serveBatchAppend(this, call),
        delete: (call, callback) => serveDelete(this, call, callback),
        tombstone: (call, callback) => serveTombstone(this, call, callback),
      },
      features: { getSupportedMethods: (call, callback) => serveFeatures(this, call, callback) },
      gossip: { read: (call, callback) => serveGossip(this, call, callback) },
    };
    grpc.addService(StreamsService, handlers.streams);
    grpc.addService(ServerFeaturesService, handlers.features);
    grpc.addService(GossipService, handlers.gossip);
    return grpc;
  }

  #credentials(): ServerCredentials {
    if (this.#certificate === null) return ServerCredentials.createInsecure();
    const { certificatePem, privateKeyPem } = this.#certificate;
    const pair = { cert_chain: Buffer.from(certificatePem), private_key: Buffer.from(privateKeyPem) };
    return ServerCredentials.createSsl(null, [pair]);
  }

  #close(end: (grpc: Server) => void): Promise<void> {
    const running = this.#running;
    if (running === null) return this.#closing;
    this.#running = null;
    const closed = new Promise<void>((resolve) => running.tcp.close(() => resolve()));
    end(running.grpc);
    this.#closing = closed;
    return closed;
  }

  #index(): void {
    const count = this.log.replicated;
    const { indexLagMs } = this.unkindness;
    if (indexLagMs === 0) this.#indexed = count;
    else setTimeout(() => this.#reach(count), indexLagMs).unref();
    this.#announce();
  }

  #reach(count: number): void {
    this.#indexed = Math.max(this.#indexed, count);
    this.#announce();
  }

  #announce(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

const bind = (tcp: TcpServer, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    tcp.once("error", reject);
    tcp.listen(port, LOOPBACK, () => {
      tcp.off("error", reject);
      resolve(port);
    });
  });

/**
 * Binds one of the ports that systems do not give to outgoing connections. While a node is away, a connection could otherwise get its port, even
 * one that tries to reach it, which then connects to itself.
 */
async function bindFreePort(tcp: TcpServer): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await bind(tcp, 20_000 + Math.floor(Math.random() * 12_000));
    } catch (error) {
      const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
      if (!isTaken || attempt === 50) throw error;
    }
  }
}
