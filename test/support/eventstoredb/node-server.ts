import type { OpenCall, SeenCall } from "./calls.ts";
import type { AppendOutcome, ExpectedRevision, ProposedEvent, StoredEvent } from "./event-log.ts";
import type { Endpoint } from "./failures.ts";
import type { Fault, InjectedFault } from "./faults.ts";
import { LOOPBACK, type Node } from "./node.ts";

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
  /** Ends a stream for ever, as another client would. */
  tombstone(stream: string): AppendOutcome;
  /** Ends as by `kill -9`; the data stay. */
  kill(): Promise<void>;
  /** Dies (`kill`, the default) or shuts down, and comes back on the same port with its data; a dead one just comes back. */
  restart(how?: "kill" | "stop"): Promise<void>;
  /**
   * Dies and comes back on the same port with the first so many records of `events()`, as when a backup was restored; with
   * none, as a database in memory that was restarted.
   */
  setBack(records?: number): Promise<void>;
  /** As a follower does that lags, or an index: what is written from now on is not seen on this node until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** What is written from now on, on whatever node, is not replicated: neither acknowledged nor readable. */
  holdReplication(): void;
  replicate(): void;
  /** Forgets data, faults and seen calls. */
  clear(): void;
  stop(): Promise<void>;
}

/** The address of nodes as a client takes it. */
export function connectionString(
  endpoints: readonly Endpoint[],
  certificateFile: string | null,
  credentials: string,
): string {
  const hosts = endpoints.map(({ host, port }) => `${host}:${port}`).join(",");
  if (certificateFile === null) return `esdb://${hosts}?tls=false`;
  return `esdb://${credentials}@${hosts}?tls=true&tlsCAFile=${encodeURIComponent(certificateFile)}`;
}

/** A node as tests hold it. */
export class NodeServer implements EventStoreDbServer {
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

  tombstone(stream: string): AppendOutcome {
    return this.#node.log.tombstone(stream, "any");
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

  async setBack(records?: number): Promise<void> {
    await this.kill();
    if (records === undefined) this.#node.log.clear();
    else this.#node.log.setBack(records);
    await this.#node.start();
  }

  freeze(): void {
    this.#node.freeze();
  }

  thaw(): void {
    this.#node.thaw();
  }

  holdReplication(): void {
    this.#node.log.holdReplication();
  }

  replicate(): void {
    this.#node.log.replicate();
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
