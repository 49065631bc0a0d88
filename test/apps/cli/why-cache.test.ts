import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { whyDocument } from "../../../src/apps/documents/requests.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";

const demoStore = useDemoStore();

const prices = JSON.stringify({
  demo: {
    ...{ litellm_provider: "openai", input_cost_per_token: 5e-6, output_cost_per_token: 3e-5 },
    ...{ cache_read_input_token_cost: 5e-7 },
  },
});

test("why shows who changed the prompt, the edit as a difference, the tokens, and what would have avoided the miss", async () => {
  const { path: cwd } = demoStore();
  const { stdout, code } = await turnlogHere(["why", "@last@24"], { cwd });
  expect(code).toBe(0);
  const from = stdout.indexOf("\nCache: ");
  const lines = stdout.slice(from + 1, stdout.indexOf("\n\nSent")).split("\n");
  expect(lines[0]).toBe("Cache: changed: the prompt changed");
  expect(lines[1]).toMatch(/^ {2}differs from the request at @16 of \S+ \S+ from input\.5 on$/);
  expect(lines[2]).toMatch(/^ {2}shorten-results@1\.2\.0 modified block 5 \(tool_result trains\)$/);
  expect(lines[3]).toMatch(/^ {2}[\d,]+ input tokens: [\d,]+ read, [\d,]+ uncached$/);
  expect(lines[4]).toMatch(/^ {2}lost [\d,]+ tokens$/);
  expect(lines[5]).toBe("  to avoid it: let the layer change a block once, when it is new, and always in the same way");
  expect(lines[6]).toBe("  shorten-results@1.2.0 @23");
  expect(lines[8]).toBe("  - 05:03 Paris > Milano Centrale > Rome, seats 0, from 99 euros");
});

test("why prices what was lost, and names the file", async () => {
  const { path: cwd, file } = demoStore();
  writeFileSync(file("prices.json"), prices);
  const line = ["why", "@last@24", "--prices", file("prices.json"), "--price-as", "demo=demo"];
  const { cache } = readDocument(whyDocument, await turnlogHere([...line, "--json"], { cwd }));
  const tokens = cache.lost?.tokens ?? 0;
  expect(tokens).toBe(cache.tokens?.uncached);
  expect(cache.price?.usd).toBe(String((tokens * 45) / 1e7));
  const { stdout, stderr } = await turnlogHere(line, { cwd });
  expect(stdout).toContain(`  lost ${tokens} tokens, $${cache.price?.usd} more than reading them\n`);
  expect(stderr).toMatch(/^prices: \S*prices\.json \(litellm, sha256 [0-9a-f]{12}\)$/m);
});

test("why with a name in no price file is refused, and exits 2", async () => {
  const { path: cwd } = demoStore();
  const { code, stderr } = await turnlogHere(["why", "@last", "--price-as", "a=b"], { cwd });
  expect(code).toBe(2);
  expect(stderr).toContain("give --prices FILE too");
});
