import { StoreUnavailableError } from "../../log/ports/event-store.ts";

/**
 * `@eventstore/db-client` 6.2.1 and its protocol messages. The messages are used directly, because the client's own
 * appends and reads lose what a store must keep: the bytes of JSON data, filters, and outcomes of appends.
 */
export type Driver = {
  readonly client: typeof import("@eventstore/db-client");
  readonly streams: typeof import("@eventstore/db-client/generated/streams_pb.js");
  readonly shared: typeof import("@eventstore/db-client/generated/shared_pb.js");
  readonly services: typeof import("@eventstore/db-client/generated/streams_grpc_pb.js");
};

export type ReadReq = InstanceType<Driver["streams"]["ReadReq"]>;
export type ReadResp = InstanceType<Driver["streams"]["ReadResp"]>;
export type RecordedEvent = InstanceType<Driver["streams"]["ReadResp"]["ReadEvent"]["RecordedEvent"]>;
export type BatchAppendReq = InstanceType<Driver["streams"]["BatchAppendReq"]>;
export type BatchAppendResp = InstanceType<Driver["streams"]["BatchAppendResp"]>;
export type StreamsClient = InstanceType<Driver["services"]["StreamsClient"]>;

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
      "esdb: stores need the package @eventstore/db-client: run npm install @eventstore/db-client@6.2.1",
      { cause },
    );
  }
}

const isNotFound = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
