import { writeFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { closeBrowser, openStudio } from "../../support/studio/browser.ts";

afterAll(closeBrowser);

const price = { input_cost_per_token: 0.0000013, output_cost_per_token: 0.0000017, litellm_provider: "openai" };

test("bytes stand apart from long times, and from money, in a cell of the strip", async () => {
  const folder = temporaryFolder();
  const [address, prices] = [`sqlite:${folder.file("turnlog.db")}`, folder.file("prices.json")];
  writeFileSync(prices, JSON.stringify({ scripted: price }));
  await using store = await openStore(address);
  const talk = store.conversation("talk");
  await talk.append("A long text. ".repeat(900));
  const model = scripted(["Hi."]);
  const infer: typeof model.infer = async (request) => {
    await new Promise((over) => setTimeout(over, 1_100));
    return model.infer(request);
  };
  await talk.run(createEngine({ provider: { ...model, infer } }));
  await using studio = await openStudio(address, { prices });
  const page = await studio.visit("/c/talk");
  const gap = `(() => {
    const [cell] = document.querySelectorAll(".strip-numbers");
    const range = document.createRange();
    range.selectNode(cell.firstChild);
    return cell.querySelector("span").getBoundingClientRect().left - range.getBoundingClientRect().right;
  })()`;
  await page.locator(".strip-numbers", { hasText: / s$/ }).waitFor();
  expect(await page.evaluate<number>(gap)).toBeGreaterThan(4);
  await page.locator(".strip-switch").click();
  await page.locator(".strip-numbers", { hasText: "$" }).waitFor();
  expect(await page.evaluate<number>(gap)).toBeGreaterThan(4);
  expect(page.faults).toEqual([]);
});

test("what a request cost that nobody told is not told, and misses that were none cost nothing", async () => {
  const folder = temporaryFolder();
  const [address, prices] = [`sqlite:${folder.file("turnlog.db")}`, folder.file("prices.json")];
  writeFileSync(prices, JSON.stringify({ scripted: price }));
  await using store = await openStore(address);
  const broken = { error: { status: 500, message: "no" } };
  for (const [id, script] of [
    ["told", ["Hi."]],
    ["untold", [broken]],
  ] as const) {
    const talk = store.conversation(id);
    await talk.append(`The one that is ${id}`);
    await talk.run(createEngine({ provider: scripted(script) })).catch(() => undefined);
  }
  await using studio = await openStudio(address, { prices });
  const page = await studio.visit("/");
  const row = (id: string) => page.locator(".conversation-row", { hasText: `The one that is ${id}` });
  await row("told").last().getByText(/^\$\d/).waitFor();
  await row("untold").getByText("not told").nth(1).waitFor();
  expect(await row("untold").textContent()).not.toContain("$");
  await page.goto(`${studio.url}/c/untold`);
  await page.locator(".strip-totals").getByText("Cost").waitFor();
  expect(await page.locator(".strip-totals").textContent()).not.toContain("$");
  await page.goto(`${studio.url}/costs`);
  const misses = page.locator(".figure", { hasText: "Cost of misses" });
  await misses.getByText("$0.00").waitFor();
  expect(page.faults).toEqual([]);
});
