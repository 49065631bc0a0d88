import { readFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { expectAccessible, expectFits } from "../../support/studio/axe.ts";
import { closeBrowser, newestId, openStudio } from "../../support/studio/browser.ts";
import { damageEvent } from "../../support/studio/troubled-store.ts";

const demoStore = useDemoStore();

afterAll(closeBrowser);

test("a person verifies the store, sees the heads and what was erased by whom, and keeps the report", async () => {
  await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
  const id = await newestId(studio.store);
  const page = await studio.visit("/");
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByRole("heading", { name: "Not verified by this studio" }).waitFor();
  await page.keyboard.press("v");
  await page.getByRole("heading", { name: "All 1 stream is sound" }).waitFor();
  await page.getByText("66 of 66 events: schemas, hash chains and folds").waitFor();
  await page.getByText("8 requests built again, equal to what was sent, byte for byte").waitFor();
  const { blocks } = (await studio.store.conversation(id).at(-1)).turn;
  const target = { conversation: id, block: blocks[1]?.id ?? "" };
  await studio.store.erase(await studio.store.planErasure({ blocks: [target] }), { by: "dpo", ground: "gdpr-17" });
  await page.getByRole("row", { name: /dpo gdpr-17 .*something is left over/ }).waitFor();
  await page.getByText(/came since and (is|are) not verified/).waitFor();
  await page.getByRole("button", { name: "Verify again" }).click();
  await page.getByText(/came since/).waitFor({ state: "detached" });
  const download = page.waitForEvent("download");
  await page.keyboard.press("s");
  const report: unknown = JSON.parse(readFileSync(await (await download).path(), "utf8"));
  expect(report).toMatchObject({ version: 1, data: { verified: { isSound: true }, erasures: [{ by: "dpo" }] } });
  await page.keyboard.press("y");
  await page.waitForFunction("navigator.clipboard.readText().then((text) => text.includes('gdpr-17'))");
  await page.getByRole("link", { name: new RegExp(`^${id}@`) }).click();
  await page.locator(".log-row[aria-selected=true]").waitFor();
  expect(page.faults).toEqual([]);
});

test("a damaged store is red, with the place and what to do; the page is accessible in both themes and fits", async () => {
  const folder = demoStore();
  const address = `sqlite:${folder.file("turnlog.db")}`;
  const store = await openStore(address);
  const id = await newestId(store);
  await store[Symbol.asyncDispose]();
  damageEvent(folder.file("turnlog.db"), `conversation-${id}`, 20);
  await using studio = await openStudio(address);
  for (const [scheme, width] of [
    ["light", 1440],
    ["dark", 390],
    ["light", 1024],
    ["dark", 720],
  ] as const) {
    const page = await studio.visit("/audit", { scheme, width, height: 800 });
    if (width === 1440) await page.getByRole("button", { name: "Verify" }).click();
    await page.getByRole("heading", { name: "1 stream of 1 damaged" }).waitFor();
    await page.getByRole("link", { name: `${id}@20` }).waitFor();
    await page.getByText(/continues from before it/).waitFor();
    await page.locator(".mono", { hasText: `turnlog fork ${id}@19` }).waitFor();
    expect(await page.locator("main").textContent()).not.toContain("`");
    await expectFits(page, `at ${width}`);
    if (width === 1440 || width === 390) await expectAccessible(page);
    expect(page.faults).toEqual([]);
  }
});
