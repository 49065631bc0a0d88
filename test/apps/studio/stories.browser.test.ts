import { afterAll, describe, expect, test } from "vitest";
import { cacheDocument } from "../../../src/apps/documents/caching.ts";
import { documentOf, readDocument, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { closeBrowser, newestId, openStudio } from "../../support/studio/browser.ts";

const demoStore = useDemoStore();

async function openDemo() {
  const folder = demoStore();
  const studio = await openStudio(`sqlite:${folder.file("turnlog.db")}`);
  return Object.assign(studio, { id: await newestId(studio.store), folder });
}

afterAll(closeBrowser);

describe("a person", () => {
  test("finds the layer that ruined an answer, its edit, and the block's story", async () => {
    await using studio = await openDemo();
    const page = await studio.visit("/");
    await page.getByRole("link", { name: /A journey to Rome/ }).click();
    await page.locator(".log-row[aria-selected=true]").waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("b");
    await page.getByRole("heading", { name: /Rebased one answer back: 3? ?shorten-results changed a block/ }).waitFor();
    expect(new URL(page.url()).searchParams.get("r")).toBe("24");
    const card = page.locator(".card", { hasText: "[shortened]" });
    expect(await card.locator("ins").last().textContent()).toContain("[shortened]");
    await card.getByRole("button", { name: /more lines/ }).click();
    expect(await card.locator("del").textContent()).toContain("16:01 Paris");
    await page.getByRole("button", { name: "Go to the edit" }).click();
    await page.locator(".card.is-target").waitFor();
    expect(new URL(page.url()).searchParams.get("r")).toBe("23");
    await page.getByRole("link", { name: "Story of block 5" }).click();
    await page.getByRole("heading", { name: "Block 5, tool_result trains" }).waitFor();
    const story = await page.locator(".story").textContent();
    expect(story).toContain("shorten-results@1.2.0 changed it");
    expect(story).toContain("This ended the chain: request r24 was rebased, 1,689 B.");
    await page.goBack();
    await page.locator(".card.is-target").waitFor();
    expect(page.faults).toEqual([]);
  });

  test("sees what was sent: the body behind what the server held, and every request on the strip", async () => {
    await using studio = await openDemo();
    const page = await studio.visit(`/c/${studio.id}?r=24&view=body`);
    await page.locator(".lines").waitFor();
    const { stdout } = await turnlogHere(["request", `${studio.id}@24`], { cwd: studio.folder.path });
    expect(JSON.parse((await page.locator(".lines").textContent()) ?? "")).toEqual(JSON.parse(stdout));
    expect(await page.locator(".body-held").textContent()).toContain("Not sent: 5 blocks");
    await page.getByRole("button", { name: "Copy the body" }).click();
    await page.waitForFunction("navigator.clipboard.readText().then((text) => text !== '')");
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(stdout);
    const cells = await page.locator(".strip-verdict").allTextContents();
    expect(cells).toEqual([
      ...["firstr7", "chainedr16", "rebasedr24", "chainedr31", "chainedr39", "rebasedr47", "chainedr54", "fullr62"],
    ]);
    await page.getByRole("slider", { name: "Request" }).focus();
    await page.keyboard.press("End");
    await page.getByRole("heading", { name: /Sent in full/ }).waitFor();
    expect(page.faults).toEqual([]);
  });

  test("finds what costs, with the numbers of turnlog bill", async () => {
    await using studio = await openDemo();
    const page = await studio.visit("/costs?by=conversation");
    await page.getByRole("link", { name: studio.id }).waitFor();
    const { data } = documentOf(
      await turnlogHere(["bill", "--by", "conversation", "--json"], { cwd: studio.folder.path }),
    ) as {
      readonly data: {
        readonly rows: readonly {
          readonly tokens: Readonly<Record<string, number>>;
          readonly bytes: number;
          readonly requests: number;
        }[];
      };
    };
    const [row] = data.rows;
    const shown = await page.locator("tbody tr").first().locator("td.num").allTextContents();
    const numbers = shown.slice(0, 6).map((text) => Number(text.replaceAll(",", "")));
    expect(numbers).toEqual([
      row?.requests,
      row?.bytes,
      row?.tokens["uncached"],
      row?.tokens["read"],
      row?.tokens["written"],
      row?.tokens["output"],
    ]);
    await page.getByRole("link", { name: studio.id }).click();
    await page.getByRole("heading", { name: /Rome/ }).waitFor();
    expect(page.faults).toEqual([]);
  });

  test("finds who made prompt caches miss, with the numbers of turnlog cache, and opens the worst request", async () => {
    await using studio = await openDemo();
    const page = await studio.visit("/costs");
    const cache = readDocument(
      cacheDocument,
      await turnlogHere(["cache", "--all", "--json"], { cwd: studio.folder.path }),
    );
    const misses = page.getByRole("table", { name: "Misses by cause" });
    await misses.waitFor();
    const rows = await misses.locator("tbody tr:not(.total)").all();
    const shown = await Promise.all(rows.map(async (row) => row.locator("td").allTextContents()));
    expect(shown.map(([by, , requests, , lost]) => [by?.replaceAll(" ", ""), requests, lost])).toEqual(
      cache.misses.map(({ author, requests, lost }) => [author, String(requests), String(lost)]),
    );
    await page.getByRole("link", { name: "Show the worst one" }).click();
    await page.getByText(`from the cache, ${cache.misses[0]?.lost} paid again`).waitFor();
    await page.keyboard.press("X");
    await page.getByRole("heading", { name: /shorten-results changed a block/ }).waitFor();
    expect(await page.locator(".strip-cell.is-current").getAttribute("title")).toContain(
      `read from the cache, ${cache.misses[1]?.lost} paid again, the prompt changed, by shorten-results@1.2.0`,
    );
    expect(page.faults).toEqual([]);
  });

  test("follows it live: another process's event appears, and does not move who looks elsewhere", async () => {
    await using studio = await openDemo();
    const page = await studio.visit(`/c/${studio.id}`);
    await page.getByText("66 events", { exact: true }).waitFor();
    const waiting: (() => void)[] = [];
    let mayAsk = 0;
    await page.route("**/api/changes?*", async (route) => {
      if (mayAsk === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      mayAsk -= 1;
      await route.continue();
    });
    await turnlogHere(["append", studio.id, "And what about Florence?"], { cwd: studio.folder.path });
    // The page may ask what is new once more, and no more than that.
    mayAsk = 1;
    waiting.shift()?.();
    await page.locator("[aria-selected=true]", { hasText: "Florence" }).waitFor();
    mayAsk = Number.POSITIVE_INFINITY;
    for (const go of waiting) go();
    await page.keyboard.press("k");
    await turnlogHere(["append", studio.id, "Or Milan?"], { cwd: studio.folder.path });
    await page.getByRole("button", { name: /1 new event/ }).waitFor();
    expect(new URL(page.url()).searchParams.get("r")).toBe("65");
    await page.keyboard.press("G");
    await page.locator("[aria-selected=true]", { hasText: "Milan" }).waitFor();
    expect(page.faults).toEqual([]);
  });
});
