import { StoreUnavailableError } from "../../log/ports/event-store.ts";
import type { Address } from "./address.ts";
import { connectionLoss } from "./failure.ts";

/**
 * What this store uses of `@eventstore/db-client`: everything is in this file, and in `messages.ts` what its messages hold.
 *
 * The client finds the server and its leader, keeps the connection, knows TLS and credentials. Its appends and reads are not
 * used, because they lose what a store must keep: the bytes of JSON data, filters, and outcomes of appends. So calls are
 * made here, with what the client has for its own: the messages and services in `generated/`, which are what servers
 * publish as their protocol, and two protected members of its class, `execute` and `callArguments`.
 * `test/support/stores/eventstoredb-client.ts` is a suite that fails where a version has another idea of one of them.
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

/** Begins a call, once or never. */
type OpenCall<C> = (grpc: StreamsClient, ...args: ReturnType<EventStoreClient["callArguments"]>) => C;

/** One client of the database, which finds the server, its leader, and a new connection where one was lost. */
export type Client = {
  /** Starts a call on the current connection, or on the one that another call is on. */
  startCall<C extends Call>(open: OpenCall<C>, beside?: ReadCall): Promise<C>;
  /** Whether calls still go the way of this one: an older one may lead to a node that was cut off. */
  isCurrent(call: Call): boolean;
  /** Makes the next call look for the server, or its leader, anew, unless that was done since this call began. */
  reconnect(call: Call): Promise<void>;
  /** Rises with each failure of a call and each connection that is lost: the server may be another one since. */
  losses(): number;
  close(): void;
};

/**
 * Loads the client, which is an optional peer dependency: no other store pays for it.
 *
 * @throws {StoreUnavailableError} when it is not installed.
 */
export async function loadDriver(): Promise<Driver> {
  try {
    const [client, streams, shared, services] = await Promise.all([
      import("@eventstore/db-client"),
      import("@eventstore/db-client/generated/streams_pb.js"),
      import("@eventstore/db-client/generated/shared_pb.js"),
      import("@eventstore/db-client/generated/streams_grpc_pb.js"),
    ]);
    // The modules are CommonJS: what they export is the default export as a whole, and by name only in part.
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

/** @throws {StoreUnavailableError} when the client does not take the address. */
export function createClient(driver: Driver, address: Address): Client {
  const client = connectionOf(driver, address);
  const grpcByCall = new WeakMap<Call, StreamsClient>();
  const left = new WeakSet<StreamsClient>();
  const watched = new WeakSet<StreamsClient>();
  let losses = 0;
  let latest: StreamsClient | null = null;

  /**
   * `execute` does something with a connection: with the one there is, else with the one to the server that it finds. (The
   * only other way to the client's connection is `GRPCStreamCreator`, which watches the call and, where a call fails while
   * the client finds no server for another one, rejects a promise that nobody handles, which ends the process.)
   */
  const withConnection = <T>(action: (grpc: StreamsClient) => Promise<T>): Promise<T> =>
    client["execute"](driver.services.StreamsClient, "turnlog", action);

  function begin<C extends Call>(grpc: StreamsClient, open: OpenCall<C>): C {
    // `callArguments` are the address's credentials and the demand for the leader: only that has every acknowledged event.
    // A deadline would end a subscription; calls have limits of their own.
    const call = open(grpc, ...client["callArguments"]({ requiresLeader: true }, { deadline: Infinity }));
    grpcByCall.set(call, grpc);
    if (!watched.has(grpc)) watch(grpc);
    // The reader of the call hears of its errors in another way; one that nobody listens to ends the process.
    call.on("error", (error: Error) => {
      const { isLost, isOurs, namesLeader } = connectionLoss(error);
      if (!isOurs) losses += 1;
      // Of a leader that is not named the client would read the name.
      if (isLost) void leave(grpc, namesLeader ? error : new driver.client.UnavailableError());
    });
    return call;
  }

  /** A connection on which no call is open is lost, and made anew, without a word. */
  function watch(grpc: StreamsClient): void {
    watched.add(grpc);
    const channel = grpc.getChannel();
    let isReady = false;
    const next = (): void => {
      const state = channel.getConnectivityState(false);
      const wasReady = isReady;
      isReady = isState(state, ready);
      if (wasReady && !isReady) losses += 1;
      // It ends with the channel, whose last change nobody hears.
      if (!isState(state, shutDown)) channel.watchConnectivityState(state, Infinity, next);
    };
    next();
  }

  /**
   * When its action throws, `execute` drops the connection, and remembers which server that was, or which one leads. Each
   * connection is left once, so the client never looks for a server at that moment: it would reject what nobody handles.
   */
  async function leave(grpc: StreamsClient, reason: Error): Promise<void> {
    if (left.has(grpc)) return;
    left.add(grpc);
    losses += 1;
    const leaving = withConnection(async (current) => {
      if (current === grpc) throw reason;
    });
    // The next call looks for the server, and tells its caller.
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

// What gRPC calls the states of a channel (`connectivityState`).
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
