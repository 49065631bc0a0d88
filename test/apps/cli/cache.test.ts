import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { cacheDocument } from "../../../src/apps/documents/caching.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";

const demoStore = useDemoStore();

const prices = JSON.stringify({
  demo: {
    ...{ litellm_provider: "openai", input_cost_per_token: 5e-6, output_cost_per_token: 3e-5 },
    ...{ cache_read_input_token_cost: 5e-7 },
  },
});

test("cache shows the hit rate, and the misses with the layers that caused them, the worst first", async () => {
  const { path: cwd } = demoStore();
  const { code, stdout, stderr } = await turnlogHere(["cache", "--all"], { cwd });
  expect(code).toBe(0);
  const [rate, paid, head, first, second, ...more] = stdout.trimEnd().split("\n");
  expect(rate).toMatch(/^\d\d\.\d % of [\d,]+ input tokens read from caches \([\d,]+\), in 8 requests$/);
  expect(paid).toMatch(/^[\d,]+ tokens paid for again$/);
  expect(head?.trimEnd()).toMatch(/^cause +by +requests +lost$/);
  expect(first).toMatch(/^changed +speak-french@2\.0\.1 +1 +[\d,]+ +the prompt changed$/);
  expect(second).toMatch(/^changed +shorten-results@1\.2\.0 +1 +[\d,]+ +the prompt changed$/);
  expect(more).toEqual([]);
  expect(stderr).toMatch(/^about [\d,]+ tokens removed from prompts by these changes$/m);
});

test("cache prices the misses, and agrees with why and with the bill by layer", async () => {
  const { path: cwd, file } = demoStore();
  writeFileSync(file("prices.json"), prices);
  const line = ["cache", "@last", "--prices", file("prices.json")];
  const { misses, money } = readDocument(cacheDocument, await turnlogHere([...line, "--json"], { cwd }));
  const shortened = misses.find(({ author }) => author === "shorten-results@1.2.0");
  const { stdout } = await turnlogHere(["why", "@last@24", "--prices", file("prices.json")], { cwd });
  expect(stdout).toContain(`lost ${shortened?.lost} tokens, $${shortened?.money} more than reading them`);
  const text = await turnlogHere(line, { cwd });
  expect(text.stdout).toContain(`tokens paid for again: $${money} more than reading them\n`);
  expect(text.stderr).toMatch(/^prices: \S*prices\.json \(litellm, sha256 [0-9a-f]{12}\)$/m);
  const bill = await turnlogHere(["bill", "--by", "layer"], { cwd });
  expect(bill.stdout).toMatch(new RegExp(`^shorten-results@1\\.2\\.0 +1 +${shortened?.lost} `, "m"));
  expect(bill.stdout).toMatch(/^\(not paid again\) +6 /m);
});

test.each<[string, readonly string[], string]>([
  ["neither conversations nor --all", ["cache"], "expected conversations, or --all for those of the whole store"],
  ["both", ["cache", "@last", "--all"], "expected conversations, or --all for those of the whole store"],
  ["a name of no price file", ["cache", "--all", "--price-as", "a=b"], "give --prices FILE too"],
])("cache with %s is refused, and exits 2", async (_, line, message) => {
  const { code, stdout, stderr } = await turnlogHere(line, { cwd: demoStore().path });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(message);
});
