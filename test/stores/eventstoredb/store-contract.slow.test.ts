import { anEvent } from "../../support/eventstoredb/server.ts";
import { describeEventStore } from "../../support/stores/contract.ts";
import { opened, startServer, withSetting } from "../../support/stores/eventstoredb-opened.ts";

describeEventStore("the EventStoreDB store", async () => opened((await startServer()).connectionString));
describeEventStore("the EventStoreDB store over TLS, beside other programs", async () => {
  const server = await startServer({ tls: true });
  for (const name of ["order-1", "turnlog-store", "conversation-1"])
    server.write(name, [anEvent("Ordered"), anEvent("Paid")]);
  return opened(withSetting(server.connectionString, "turnlogNamespace=staging"));
});
