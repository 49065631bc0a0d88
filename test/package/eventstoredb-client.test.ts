import type { Driver } from "../../src/stores/eventstoredb/client.ts";
import { describeClient } from "../support/stores/eventstoredb-client.ts";

// Not among the tests that use the installed version: the messages of all versions have one name in their process.
describeClient("the oldest client that may be installed", loadOldest);

async function loadOldest(): Promise<Driver> {
  const [client, streams, shared, services] = await Promise.all([
    import("eventstoredb-client-oldest"),
    import("eventstoredb-client-oldest/generated/streams_pb.js"),
    import("eventstoredb-client-oldest/generated/shared_pb.js"),
    import("eventstoredb-client-oldest/generated/streams_grpc_pb.js"),
  ]);
  const oldest = {
    client: client.default,
    streams: streams.default,
    shared: shared.default,
    services: services.default,
  };
  // Its classes are other ones for the compiler, because they have private members; that they serve is what is tested.
  return oldest as unknown as Driver;
}
