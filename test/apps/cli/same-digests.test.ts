import { expect, test } from "vitest";
import { digestsByKind, playWholeDemo, type StoreUrls } from "../../support/cli/same-digests.ts";
import { startServer } from "../../support/stores/eventstoredb-opened.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const urls: StoreUrls = [
  ["sqlite", async () => `sqlite:${temporaryFolder().file("turnlog.db")}`],
  ["memory", async () => "memory:"],
  ["esdb", async () => (await startServer()).connectionString],
  ["esdb over TLS", async () => (await startServer({ tls: true })).connectionString],
];

test("the demo comes to the same digests at every revision, whatever store keeps it", async () => {
  const digests = await digestsByKind(urls, playWholeDemo);
  const expected = digests.get("sqlite") ?? [];
  expect(expected.length).toBeGreaterThan(60);
  for (const [kind, each] of digests) expect(each, kind).toEqual(expected);
});
