import { onTestFinished } from "vitest";
import { openEventStoreDb } from "../../src/stores/eventstoredb/store.ts";
import { type EventStoreDbServerOptions, startEventStoreDbServer } from "../support/eventstoredb/server.ts";
import { describeEventStore } from "./contract.ts";

async function fresh(options: EventStoreDbServerOptions) {
  const server = await startEventStoreDbServer(options);
  onTestFinished(() => server.stop());
  return openEventStoreDb(server.connectionString, { viewsPath: ":memory:" });
}

describeEventStore("the EventStoreDB store", () => fresh({}));
