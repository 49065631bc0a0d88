import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";

const demoStore = useDemoStore();

const prices = JSON.stringify({
  demo: { litellm_provider: "openai", input_cost_per_token: 5e-6, output_cost_per_token: 3e-5 },
});

/** Runs `bill` beside a price file; its path is left out of what it prints. */
async function bill(line: string, priceFile = prices) {
  const { path: cwd, file } = demoStore();
  writeFileSync(file("prices.json"), priceFile);
  const typed = line.replace("prices.json", file("prices.json")).split(" ");
  const { code, stdout, stderr } = await turnlogHere(["bill", ...typed.filter((word) => word !== "")], { cwd });
  return { code, stdout, stderr: stderr.replaceAll(file("prices.json"), "prices.json") };
}

test("bill shows requests and tokens by model, and no money without a price file", async () => {
  const { code, stdout, stderr } = await bill("");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const [head, row, total, ...more] = stdout.trimEnd().split("\n");
  expect(head).toMatch(/^model +requests +uncached +read +written +output$/);
  expect(row).toMatch(/^demo +8 +[\d,]+ +[\d,]+ +0 +[\d,]+$/);
  expect(total?.replace("total", "demo ").split(/ +/)).toEqual(row?.split(/ +/));
  expect(more).toEqual([]);
});

test("bill shows money by a price file, names the file, and lists what has no price there", async () => {
  const { code, stdout, stderr } = await bill("--prices prices.json --by day");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^day .* money\n2\d{3}-\d\d-\d\d .* \$0\.\d+\ntotal .* \$0\.\d+\n$/);
  expect(stderr).toMatch(/^prices: prices\.json \(litellm, sha256 [0-9a-f]{12}\)$/m);
  expect(stderr).toMatch(/^not priced: [\d,]+ tokens read of demo at tier auto: the file has no price for that$/m);
});

test("bill of a model that the file lacks shows no money, until the user names an entry", async () => {
  const file = prices.replace('"demo"', '"gpt-5.4"');
  const lacking = await bill("--prices prices.json", file);
  expect(lacking.stdout).not.toContain("$");
  expect(lacking.stderr).toContain("the file lacks the model (--price-as MODEL=ENTRY)");
  expect((await bill("--prices prices.json --price-as demo=gpt-5.4", file)).stdout).toContain("$");
});

test("bill of a store where nothing was sent since then says so", async () => {
  expect(await bill("--since 2999-01-01")).toEqual({ code: 0, stdout: "", stderr: "no request was sent\n" });
});

test.each<[string, string, string]>([
  ["--prices prices.json", "{}", "turnlog: prices.json is JSON of another form, with 0 members; give LiteLLM's"],
  ["--prices prices.json", "half", "turnlog: prices.json is not JSON; give LiteLLM's"],
  ["--prices prices.json --price-as a=b", prices, "turnlog: prices.json has no entry 'b'"],
  ["--price-as a=b", prices, "turnlog: --price-as names an entry of a price file: give --prices FILE too"],
  ["--by colour", prices, "Expected model, conversation, provider, day, run, layer or label:NAME."],
  ["--since soon", prices, "Expected a time such as"],
])("bill %s with the file %s is refused, and exits 2", async (line, file, message) => {
  const { code, stdout, stderr } = await bill(line, file);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(message);
});

test.each([
  ["a conversation that does not exist", "cnv_nobody"],
  ["a file that is not there", "--prices nowhere.json"],
])("bill with %s exits 3", async (_, line) => {
  expect(await bill(line)).toMatchObject({ code: 3, stdout: "" });
});
