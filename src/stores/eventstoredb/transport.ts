import { StoreUnavailableError } from "../../engine/ports/event-store.ts";
import type { Address } from "./address.ts";
import type { Driver, StreamsClient } from "./driver.ts";

type Client = InstanceType<Driver["client"]["EventStoreDBClient"]>;

/** Metadata and options of a call: credentials, the demand for the leader, no time limit. */
type CallArguments = ReturnType<Client["callArguments"]>;

export type ReadCall = ReturnType<StreamsClient["read"]>;
export type AppendCall = ReturnType<StreamsClient["batchAppend"]>;

/** One client of the database, which finds the server, its leader, and a new connection where one was lost. */
export type Transport = {
  readonly driver: Driver;
  /** Starts a call, on a new channel where the last one was lost. `open` is called once, or never. */
  startCall<Call extends ReadCall | AppendCall>(
    open: (grpc: StreamsClient, ...args: CallArguments) => Call,
  ): Promise<Call>;
  /** Makes the next call look for the server, or its leader, anew: for servers that say in an answer that they cannot. */
  reconnect(): Promise<void>;
  close(): void;
};

/** @throws {StoreUnavailableError} when the client does not take the address. */
export function createTransport(driver: Driver, address: Address): Transport {
  const client = createClient(driver, address);
  let latest: StreamsClient | null = null;
  return {
    driver,
    startCall: (open) =>
      client["GRPCStreamCreator"](driver.services.StreamsClient, "turnlog", (grpc) => {
        latest = grpc;
        // Only the leader has every acknowledged event.
        const call = open(grpc, ...client["callArguments"]({ requiresLeader: true }, { deadline: Infinity }));
        // Whoever reads the call hears of its errors in another way; one that nobody listens to ends the process.
        call.on("error", () => undefined);
        return call;
      })(),
    async reconnect() {
      if (latest !== null) await client["handleError"](latest, new driver.client.UnavailableError());
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
