import { writeFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { createEngine } from "../../src/engine/stack/create-engine.ts";
import { openStore } from "../../src/open-store.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";
import { closeBrowser, openStudio } from "../support/studio/browser.ts";

afterAll(closeBrowser);

test("what a request cost that nobody told is not told, and misses that were none cost nothing", async () => {
  const folder = temporaryFolder();
  const [address, prices] = [`sqlite:${folder.file("turnlog.db")}`, folder.file("prices.json")];
  const price = { input_cost_per_token: 0.001, output_cost_per_token: 0.001, litellm_provider: "openai" };
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
