import { afterAll, expect, test } from "vitest";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { expectAccessible, expectFits } from "../../support/studio/axe.ts";
import { closeBrowser, newestId, openStudio } from "../../support/studio/browser.ts";

const demoStore = useDemoStore();

afterAll(closeBrowser);

test("a person goes from a conversation to its forks and into one, by keys; the page is accessible and fits", async () => {
  await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
  const id = await newestId(studio.store);
  const first = await studio.store.conversation(id).fork(24, { id: "cnv_first_fork" });
  await first.relabel({ title: "Without shortening" });
  await first.fork(-1, { id: "cnv_second_fork" });
  const page = await studio.visit(`/c/${id}`);
  await page.locator(".log-row[aria-selected=true]").waitFor();
  await page.getByRole("link", { name: "Forks" }).click();
  await page.keyboard.press("Escape");
  await page.locator(".log-row[aria-selected=true]").waitFor();
  await page.keyboard.press("f");
  const rows = page.getByRole("treeitem");
  await expect.poll(() => rows.count()).toBe(3);
  expect(
    await page.evaluate("[...document.querySelectorAll('[role=treeitem]')].map((each) => each.ariaLevel)"),
  ).toEqual(["1", "2", "3"]);
  await page.keyboard.press("j");
  await page.locator("[aria-selected=true]", { hasText: "r24" }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Without shortening" }).waitFor();
  expect(page.url()).toContain("/c/cnv_first_fork");
  expect(page.faults).toEqual([]);
  for (const [scheme, width] of [
    ["light", 1440],
    ["dark", 1024],
    ["dark", 390],
  ] as const) {
    const other = await studio.visit("/c/cnv_second_fork/forks", { scheme, width, height: 800 });
    await other.getByRole("treeitem").first().waitFor();
    await expectAccessible(other);
    await expectFits(other, `at ${width}`);
  }
});
