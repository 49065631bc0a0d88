import { expect, test } from "vitest";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { generateDocuments } from "../../../src/testing/rehearsal/generate.ts";
import { rehearsalParts } from "../../../src/testing/rehearsal/reference-parts.ts";
import { rehearse } from "../../../src/testing/rehearsal/rehearse.ts";
import { digestsByKind, leadTo, type StoreUrls } from "../../support/cli/same-digests.ts";
import { startServer } from "../../support/stores/eventstoredb-opened.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const urls: StoreUrls = [
  ["sqlite", async () => `sqlite:${temporaryFolder().file("turnlog.db")}`],
  ["memory", async () => "memory:"],
  ["esdb", async () => (await startServer()).connectionString],
  ["esdb over TLS", async () => (await startServer({ tls: true })).connectionString],
];

test("a rehearsal comes to the same digests at every revision, whatever store keeps it", async () => {
  const figures: object[] = [];
  const digests = await digestsByKind(urls, async (store, sources) => {
    const parts = {
      ...rehearsalParts(store),
      provider: ({ baseUrl }: { readonly baseUrl: string }) =>
        openaiResponses({
          ...{ model: "rehearsal", baseURL: "http://turnlog.test/v1", apiKey: "rehearsal" },
          fetch: leadTo(baseUrl),
        }),
    };
    const options = {
      seed: "1",
      editRate: 0.4,
      edits: "all",
      reasoning: true,
      parallel: true,
      mode: "chained",
    } as const;
    const { seconds: _, ...counted } = await rehearse(generateDocuments("digests", 2), parts, { ...options, sources });
    expect(counted).toMatchObject({ conversations: 2, incoherent: 0 });
    figures.push(counted);
  });
  const expected = digests.get("sqlite") ?? [];
  expect(expected.length).toBeGreaterThan(100);
  for (const [kind, each] of digests) expect(each, kind).toEqual(expected);
  for (const each of figures) expect(each).toEqual(figures[0]);
});
