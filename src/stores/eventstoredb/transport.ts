import { StoreUnavailableError } from "../../log/ports/event-store.ts";
import type { Address } from "./address.ts";
import type { Driver, StreamsClient } from "./driver.ts";

type Client = InstanceType<Driver["client"]["EventStoreDBClient"]>;

/** Metadata and options of a call: credentials, the demand for the leader, no time limit. */
type CallArguments = ReturnType<Client["callArguments"]>;

export type ReadCall = ReturnType<StreamsClient["read"]>;
export type AppendCall = ReturnType<StreamsClient["batchAppend"]>;

/** Begins a call, once or never. */
type OpenCall<Call> = (grpc: StreamsClient, ...args: CallArguments) => Call;

/** One client of the database, which finds the server, its leader, and a new connection where one was lost. */
export type Transport = {
  readonly driver: Driver;
  /** Starts a call on the connection of the day, or on the one that another call is on. */
  startCall<Call extends ReadCall | AppendCall>(open: OpenCall<Call>, beside?: ReadCall): Promise<Call>;
  /** Whether calls go the way of this one by now: an older one may still lead to a node that was cut off. */
  isCurrent(call: ReadCall | AppendCall): boolean;
  /** Makes the next call look for the server, or its leader, anew, unless others have done so since this call began. */
  reconnect(call: ReadCall | AppendCall): Promise<void>;
  close(): void;
};

/** @throws {StoreUnavailableError} when the client does not take the address. */
export function createTransport(driver: Driver, address: Address): Transport {
  const client = createClient(driver, address);
  const grpcByCall = new WeakMap<ReadCall | AppendCall, StreamsClient>();
  let latest: StreamsClient | null = null;

  function begin<Call extends ReadCall | AppendCall>(grpc: StreamsClient, open: OpenCall<Call>): Call {
    // Only the leader has every acknowledged event.
    const call = open(grpc, ...client["callArguments"]({ requiresLeader: true }, { deadline: Infinity }));
    // Whoever reads the call hears of its errors in another way; one that nobody listens to ends the process.
    call.on("error", () => undefined);
    grpcByCall.set(call, grpc);
    return call;
  }

  return {
    driver,
    async startCall(open, beside) {
      const same = beside && grpcByCall.get(beside);
      if (same !== undefined) return begin(same, open);
      return client["GRPCStreamCreator"](driver.services.StreamsClient, "turnlog", (grpc) => {
        latest = grpc;
        return begin(grpc, open);
      })();
    },
    isCurrent: (call) => grpcByCall.get(call) === latest,
    async reconnect(call) {
      const grpc = grpcByCall.get(call);
      if (grpc !== undefined) await client["handleError"](grpc, new driver.client.UnavailableError());
    },
    close() {
      latest?.close();
    },
  };
}

function createClient(driver: Driver, address: Address): Client {
  try {
    const client = driver.client.EventStoreDBClient.connectionString(address.connectionString);
    containReconnects(client);
    return client;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StoreUnavailableError(`${address.shown} cannot be used: ${reason}`, { cause });
  }
}

/**
 * When a call fails while the client looks for a server for another call, and finds none, the client rejects a promise
 * that nobody handles, which ends the process.
 */
function containReconnects(client: Client): void {
  const handleError = client["handleError"];
  client["handleError"] = async (grpc, error) => {
    try {
      await handleError(grpc, error);
    } catch {
      // The next call looks for the server again, and tells its caller.
    }
  };
}
