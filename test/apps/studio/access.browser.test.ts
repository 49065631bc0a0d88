import { afterAll, describe, expect, test } from "vitest";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { expectAccessible } from "../../support/studio/axe.ts";
import { closeBrowser, newestId, openStudio } from "../../support/studio/browser.ts";

const demoStore = useDemoStore();

afterAll(closeBrowser);

const pages = [
  ["the list", "/", ".conversation-row"],
  ["a search", "/?q=hotel", ".hit"],
  ["the stack", "/c/ID?r=24", ".stack-row"],
  ["a difference", "/c/ID?r=23&view=diff", ".diff-block"],
  ["a body", "/c/ID?r=24&view=body", ".lines"],
  ["blame", "/c/ID?r=24&view=blame", ".rows-table"],
  ["times", "/c/ID?r=24&view=time", ".time-row"],
  ["an event", "/c/ID?r=24&view=event", ".event-facts"],
  ["why", "/c/ID?r=24&view=why", ".event-facts"],
  ["a story", "/c/ID/b/BLOCK", ".story-step"],
  ["costs", "/costs", ".table"],
] as const;

describe("axe finds nothing wrong", () => {
  for (const scheme of ["light", "dark"] as const)
    for (const [name, path, shown] of pages)
      test(`on ${name}, ${scheme}`, async () => {
        await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
        const id = await newestId(studio.store);
        const { blocks } = (await studio.store.conversation(id).at(24)).turn;
        const to = path.replace("ID", id).replace("BLOCK", encodeURIComponent(blocks[1]?.id ?? ""));
        const page = await studio.visit(to, { scheme });
        await page.locator(shown).first().waitFor();
        await expectAccessible(page);
      });
});

describe("the page fits", () => {
  test.each([
    [1440, 900],
    [1024, 768],
    [720, 450],
    [390, 844],
  ])("%i by %i pixels without scrolling sideways, and its log opens", async (width, height) => {
    await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
    const id = await newestId(studio.store);
    for (const path of ["/", `/c/${id}?r=24`, "/costs"]) {
      const page = await studio.visit(path, { width, height });
      await page.locator(".conversation-row, .stack-row, .table").first().waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path).toBe(true);
      if (!path.startsWith("/c/")) continue;
      if (width < 1_200) await page.keyboard.press("l");
      await page.locator(".log-row[aria-selected=true]").waitFor();
    }
  });

  test("all that can be pressed is 24 pixels or more", async () => {
    await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
    const id = await newestId(studio.store);
    for (const path of ["/", `/c/${id}?r=24`, "/costs"]) {
      const page = await studio.visit(path);
      await page.locator(".conversation-row, .stack-row, .table").first().waitFor();
      const small = await page.evaluate(`[...document.querySelectorAll("button, [role=tab]")]
        .map((each) => ({ text: each.textContent, height: each.getBoundingClientRect().height }))
        .filter(({ height }) => height > 0 && height < 24)`);
      expect(small, path).toEqual([]);
    }
  });
});
