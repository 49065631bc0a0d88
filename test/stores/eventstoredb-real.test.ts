import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEventStoreDb } from "../../src/stores/eventstoredb/store.ts";
import { type Container, findEngine, startContainer } from "./container.ts";
import { describeEventStore } from "./contract.ts";
import { opened, withSetting } from "./eventstoredb-opened.ts";

const images = [
  { image: "eventstore/eventstore:24.10.0-bookworm-slim", prefix: "EVENTSTORE" },
  { image: "docker.kurrent.io/kurrent-lts/kurrentdb:26.0.3", prefix: "KURRENTDB" },
];

const started = Date.now().toString(36);
let stores = 0;

/** An empty store at a server that others use too. */
function freshAt(url: string): ReturnType<typeof opened> {
  stores += 1;
  return opened(withSetting(url, `turnlogNamespace=test_${started}_${process.pid}_${stores}`), {
    readyTimeoutMs: 10_000,
  });
}

const external = process.env["TURNLOG_TEST_ESDB"];
if (external !== undefined) describeEventStore("the server of TURNLOG_TEST_ESDB", () => freshAt(external));

const engine = findEngine();
if (engine === null) withoutEngine();
else for (const { image, prefix } of images) withContainer(engine, image, prefix);

function withoutEngine(): void {
  const reason = "no container engine answers (docker info, podman info)";
  test.skipIf(process.env["REQUIRE_CONTAINERS"] !== "1")(`the store on real servers: ${reason}`, () => {
    expect.fail(`REQUIRE_CONTAINERS=1, and ${reason}`);
  });
}

function withContainer(command: string, image: string, prefix: string): void {
  describe(image, () => {
    let container: Container | null = null;
    let url = "";
    beforeAll(async () => {
      const settings = { CLUSTER_SIZE: "1", INSECURE: "true", MEM_DB: "true", TELEMETRY_OPTOUT: "true" };
      const named = Object.entries(settings).map(([name, value]) => [`${prefix}_${name}`, value] as const);
      const environment = Object.fromEntries(named);
      container = await startContainer({ engine: command, image, environment, port: 2113 });
      url = `esdb://127.0.0.1:${container.port}?tls=false`;
      // A server that was just started answers when it is ready.
      await (await openEventStoreDb(url, { viewsPath: ":memory:", readyTimeoutMs: 120_000 })).close();
    }, 600_000);
    afterAll(() => container?.remove());
    describeEventStore(`the EventStoreDB store on ${image}`, () => freshAt(url));
  });
}
