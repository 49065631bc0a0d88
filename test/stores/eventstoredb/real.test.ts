import type { StartedTestContainer } from "testcontainers";
import { afterAll, beforeAll, describe } from "vitest";
import { openEventStoreDb } from "../../../src/stores/eventstoredb/store.ts";
import { engineProblem, skipContainers, startContainer } from "../../support/stores/container.ts";
import { describeEventStore } from "../../support/stores/contract.ts";
import { opened } from "../../support/stores/eventstoredb-opened.ts";
import { freshAddress, runningServers } from "../../support/stores/running-server.ts";

const images = [
  { image: "eventstore/eventstore:24.10.0-bookworm-slim", prefix: "EVENTSTORE" },
  { image: "docker.kurrent.io/kurrent-lts/kurrentdb:26.0.3", prefix: "KURRENTDB" },
];

/** An empty store at a server that others use too. */
const freshAt = (url: string): ReturnType<typeof opened> => opened(freshAddress(url), { deadlineMs: 10_000 });

for (const url of runningServers) describeEventStore("the server of TURNLOG_TEST_ESDB", () => freshAt(url));

const problem = await engineProblem();
if (problem === null) for (const { image, prefix } of images) withContainer(image, prefix);
else skipContainers(`the store on ${images.length} real servers`, problem);

function withContainer(image: string, prefix: string): void {
  describe(image, () => {
    let container: StartedTestContainer | null = null;
    let url = "";
    beforeAll(async () => {
      const settings = { CLUSTER_SIZE: "1", INSECURE: "true", MEM_DB: "true", TELEMETRY_OPTOUT: "true" };
      const named = Object.entries(settings).map(([name, value]) => [`${prefix}_${name}`, value] as const);
      container = await startContainer({ image, environment: Object.fromEntries(named), port: 2113 });
      url = `esdb://${container.getHost()}:${container.getMappedPort(2113)}?tls=false`;
      // Its health check says that it lives, and not that it has a leader: itself.
      await (await openEventStoreDb(url, { viewsPath: ":memory:", deadlineMs: 120_000 })).close();
    }, 600_000);
    afterAll(async () => {
      await container?.stop();
    });
    describeEventStore(`the EventStoreDB store on ${image}`, () => freshAt(url));
  });
}
