import { StoreUnavailableError } from "../../log/ports/store-errors.ts";
import type { Address } from "./address.ts";
import { connectionLoss } from "./failure.ts";

/**
 * What this store uses of `@eventstore/db-client`. All uses are in this file, except for the content of messages (`messages.ts`).
 *
 * The client finds the server and its leader, keeps the connection, and handles TLS and credentials. Its appends and reads are not
 * used, because they lose what a store must keep: the bytes of JSON data, filters, and outcomes of appends. So this file makes the
 * calls with internals of the client: the messages and services in `generated/`, which match the protocol that servers
 * publish, and two protected members of its class, `execute` and `callArguments`.
 * The suite `test/support/stores/eventstoredb-client.ts` fails if a version changes one of them.
 */
export type Driver = {
  readonly client: typeof import("@eventstore/db-client");
  readonly streams: typeof import("@eventstore/db-client/generated/streams_pb.js");
  readonly shared: typeof import("@eventstore/db-client/generated/shared_pb.js");
  readonly services: typeof import("@eventstore/db-client/generated/streams_grpc_pb.js");
};

type EventStoreClient = InstanceType<Driver["client"]["EventStoreDBClient"]>;
type StreamsClient = InstanceType<Driver["services"]["StreamsClient"]>;

export type ReadCall = ReturnType<StreamsClient["read"]>;
export type AppendCall = ReturnType<StreamsClient["batchAppend"]>;
type Call = ReadCall | AppendCall;

/** Starts a call, at most once. */
type OpenCall<C> = (grpc: StreamsClient, ...args: ReturnType<EventStoreClient["callArguments"]>) => C;

/** One client of the database. It finds the server and its leader, and a new connection after a loss. */
export type Client = {
  /** Starts a call on the current connection, or on the connection of another call. */
  startCall<C extends Call>(open: OpenCall<C>, beside?: ReadCall): Promise<C>;
  /** Whether new calls still use the connection of this one: an older one may lead to a node that was cut off. */
  isCurrent(call: Call): boolean;
  /** Makes the next call search for the server or its leader, unless that has happened since this call began. */
  reconnect(call: Call): Promise<void>;
  /** Increases with each failed call and each lost connection: since then the server may be another one. */
  losses(): number;
  close(): void;
};

/**
 * Loads the client, which is an optional peer dependency that other stores do not need.
 *
 * @throws {StoreUnavailableError} if it is not installed.
 */
export async function loadDriver(): Promise<Driver> {
  try {
    const [client, streams, shared, services] = await Promise.all([
      import("@eventstore/db-client"),
      import("@eventstore/db-client/generated/streams_pb.js"),
      import("@eventstore/db-client/generated/shared_pb.js"),
      import("@eventstore/db-client/generated/streams_grpc_pb.js"),
    ]);
    // The modules are CommonJS: the default export has all their exports; only some are also named exports.
    return { client: client.default, streams: streams.default, shared: shared.default, services: services.default };
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    throw new StoreUnavailableError(
      "esdb: stores need the package @eventstore/db-client: run npm install @eventstore/db-client@6",
      { cause },
    );
  }
}

const isNotFound = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";

/** @throws {StoreUnavailableError} if the client rejects the address. */
export function createClient(driver: Driver, address: Address): Client {
  const client = connectionOf(driver, address);
  const grpcByCall = new WeakMap<Call, StreamsClient>();
  const left = new WeakSet<StreamsClient>();
  const watched = new WeakSet<StreamsClient>();
  let losses = 0;
  let latest: StreamsClient | null = null;

  /**
   * `execute` calls an action with the current connection, or else finds a server and connects. (The
   * only other way to the client's connection is `GRPCStreamCreator`. It watches the call, and if a call fails while
   * the client finds no server for another one, it causes an unhandled rejection, which ends the process.)
   */
  const withConnection = <T>(action: (grpc: StreamsClient) => Promise<T>): Promise<T> =>
    client["execute"](driver.services.StreamsClient, "turnlog", action);

  function begin<C extends Call>(grpc: StreamsClient, open: OpenCall<C>): C {
    // `callArguments` has the address's credentials and requires the leader: only the leader has every acknowledged event.
    // A deadline would end a subscription; calls have their own limits.
    const call = open(grpc, ...client["callArguments"]({ requiresLeader: true }, { deadline: Infinity }));
    grpcByCall.set(call, grpc);
    if (!watched.has(grpc)) watch(grpc);
    // The reader of the call gets its errors in another way, but without a listener an error ends the process.
    call.on("error", (error: Error) => {
      const { isLost, isOurs, namesLeader } = connectionLoss(error);
      if (!isOurs) losses += 1;
      // If the error does not name the leader, the client would still read a name from it.
      if (isLost) void leave(grpc, namesLeader ? error : new driver.client.UnavailableError());
    });
    return call;
  }

  /** Counts the loss of a connection without open calls, which is otherwise silent. */
  function watch(grpc: StreamsClient): void {
    watched.add(grpc);
    const channel = grpc.getChannel();
    let isReady = false;
    const next = (): void => {
      const state = channel.getConnectivityState(false);
      const wasReady = isReady;
      isReady = isState(state, ready);
      if (wasReady && !isReady) losses += 1;
      // The watch ends with the channel.
      if (!isState(state, shutDown)) channel.watchConnectivityState(state, Infinity, next);
    };
    next();
  }

  /**
   * If its action throws, `execute` drops the connection, and remembers the failed server or the named leader. Each
   * connection is left once, and so never while the client searches for a server: that would cause an unhandled rejection.
   */
  async function leave(grpc: StreamsClient, reason: Error): Promise<void> {
    if (left.has(grpc)) return;
    left.add(grpc);
    losses += 1;
    const leaving = withConnection(async (current) => {
      if (current === grpc) throw reason;
    });
    // The next call searches for the server, and reports errors to its caller.
    await leaving.catch(() => undefined);
  }

  return {
    async startCall(open, beside) {
      const same = beside && grpcByCall.get(beside);
      if (same !== undefined) return begin(same, open);
      latest = await withConnection(async (grpc) => grpc);
      return begin(latest, open);
    },
    isCurrent(call) {
      const grpc = grpcByCall.get(call);
      return grpc !== undefined && grpc === latest && !left.has(grpc);
    },
    async reconnect(call) {
      const grpc = grpcByCall.get(call);
      if (grpc !== undefined) await leave(grpc, new driver.client.UnavailableError());
    },
    losses: () => losses,
    close() {
      latest?.close();
    },
  };
}

// gRPC's states of a channel (`connectivityState`).
const [ready, shutDown] = [2, 4];
const isState = (state: number, wanted: number): boolean => state === wanted;

function connectionOf(driver: Driver, address: Address): EventStoreClient {
  try {
    return driver.client.EventStoreDBClient.connectionString(address.connectionString);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StoreUnavailableError(`${address.shown} cannot be used: ${reason}`, { cause });
  }
}
