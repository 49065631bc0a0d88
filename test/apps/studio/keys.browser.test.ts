import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { closeBrowser, newestId, openStudio, type Visited } from "../../support/studio/browser.ts";

afterAll(closeBrowser);

describe("the keys of a conversation", () => {
  let studio: Awaited<ReturnType<typeof openStudio>>;
  let page: Visited;
  let id = "";
  const folder = mkdtempSync(join(tmpdir(), "turnlog-"));

  beforeAll(async () => {
    await turnlogHere(["demo", "-q"], { cwd: folder });
    studio = await openStudio(`sqlite:${join(folder, "turnlog.db")}`);
    id = await newestId(studio.store);
    page = await studio.visit(`/c/${id}?r=20`);
    await page.getByRole("heading", { name: /Rebased/ }).waitFor();
  });
  afterAll(async () => {
    await studio[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const query = (name: string): string | null => new URL(page.url()).searchParams.get(name);

  async function at(path: string, keys: readonly string[], revision: string | null): Promise<void> {
    await page.goto(`${studio.url}/c/${id}${path}`);
    await page.locator(".log-row[aria-selected=true]").waitFor();
    for (const key of keys) await page.keyboard.press(key);
    await expect.poll(() => query("r")).toBe(revision);
  }

  test.each<readonly [string, readonly string[], string, string | null]>([
    ["j steps on", ["j"], "?r=20", "21"],
    ["k steps back", ["k"], "?r=20", "19"],
    ["the arrows do the same", ["ArrowDown", "ArrowDown", "ArrowUp"], "?r=20", "21"],
    ["with Shift by ten", ["Shift+ArrowDown"], "?r=20", "30"],
    ["J and K too", ["J", "J", "K"], "?r=20", "30"],
    ["the end holds", ["j"], "?r=65", "65"],
    ["the beginning holds", ["k"], "?r=0", "0"],
    ["] goes to the next answer", ["]"], "?r=20", "25"],
    ["[ goes to the answer before", ["["], "?r=20", "17"],
    ["e goes to the next edit", ["e"], "?r=20", "22"],
    ["E goes to the edit before", ["E"], "?r=20", "18"],
    ["b goes to the next broken chain", ["b"], "?r=24", "47"],
    ["B goes to the broken chain before", ["B"], "?r=62", "47"],
    ["t goes to the next message", ["t"], "?r=20", "35"],
    ["T goes to the message before", ["T"], "?r=35", "20"],
    ["g goes to the first event", ["g"], "?r=20", "0"],
    ["G follows the newest", ["G"], "?r=20", null],
  ])("%s", async (_, keys, from, to) => {
    await at(from, keys, to);
  });

  test(": takes a revision", async () => {
    await at("?r=20", [":"], "20");
    await page.getByRole("textbox", { name: "Revision" }).fill("41");
    await page.keyboard.press("Enter");
    await expect.poll(() => query("r")).toBe("41");
  });

  test("1 to 7 show the views, and each has an address", async () => {
    await at("?r=24", [], "24");
    for (const [key, view, shown] of [
      ["2", "diff", ".diff-block, .empty"],
      ["3", "body", ".lines"],
      ["4", "blame", ".rows-table"],
      ["5", "time", ".time-row"],
      ["6", "event", ".event-facts"],
      ["7", "why", ".event-facts"],
      ["1", null, ".stack"],
    ] as const) {
      await page.keyboard.press(key);
      await page.locator(shown).first().waitFor();
      expect(query("view")).toBe(view);
    }
  });

  test("m marks a base, and d shows what changed since", async () => {
    await at("?r=20", ["m", "]", "d"], "25");
    await page.getByText("From r20 to r25, in sum").waitFor();
    expect([query("view"), query("base")]).toEqual(["diff", "20"]);
  });

  test("/ filters the log by words, types and layers, and Escape clears it", async () => {
    await at("?r=24", ["/"], "24");
    await page.keyboard.type("type:edit layer:shorten");
    const rows = page.locator(".log-row");
    await expect.poll(() => rows.count()).toBe(1);
    expect(await rows.textContent()).toContain("shorten-results ~ tool_result trains");
    await page.keyboard.press("Escape");
    await expect.poll(() => rows.count()).toBeGreaterThan(10);
    expect(query("f")).toBe(null);
  });

  test("v opens all messages of the log, and folds them again", async () => {
    await at("?r=24", ["v"], "24");
    await expect.poll(() => page.locator(".log-row").count()).toBeGreaterThan(30);
    await page.keyboard.press("v");
    await expect.poll(() => page.locator(".log-row").count()).toBe(20);
  });

  test("c copies a link with the event's digest, which another log would not have", async () => {
    await at("?r=24", ["c"], "24");
    await page.waitForFunction("navigator.clipboard.readText().then((text) => text.includes('&h='))");
    const link = String(await page.evaluate("navigator.clipboard.readText()"));
    const digest = new URL(link).searchParams.get("h") ?? "";
    expect(digest).toMatch(/^[0-9a-f]{8}$/);
    await page.goto(link);
    await page.locator(".log-row[aria-selected=true]").waitFor();
    expect(await page.getByText("made for a different log").count()).toBe(0);
    await page.goto(link.replace(digest, "00000000"));
    await page.getByText("This link was made for a different log").waitFor();
  });

  test("y copies the event as it is stored", async () => {
    await at("?r=24", ["y"], "24");
    await page.waitForFunction("navigator.clipboard.readText().then((text) => text.includes('dataDigest'))");
    expect(JSON.parse(String(await page.evaluate("navigator.clipboard.readText()")))).toMatchObject({ revision: 24 });
  });

  test("? lists the keys, and there they can be turned off", async () => {
    await at("?r=24", ["?"], "24");
    const dialog = page.getByRole("dialog", { name: "Keys" });
    await dialog.getByText("Next broken chain").waitFor();
    await dialog.getByRole("checkbox").uncheck();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    await page.keyboard.press("j");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => query("r")).toBe("25");
    await page.evaluate("localStorage.clear()");
  });

  test("Ctrl K goes to commands, revisions and conversations", async () => {
    await at("?r=24", ["Control+k"], "24");
    await page.getByRole("combobox").fill("r41");
    await page.keyboard.press("Enter");
    await expect.poll(() => query("r")).toBe("41");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("blame");
    await page.keyboard.press("Enter");
    await page.locator(".rows-table").waitFor();
  });

  test("Ctrl K opens a conversation under an id of the caller's own", async () => {
    await studio.store.conversation("order-17").append("Where is it?");
    await at("?r=24", ["Control+k"], "24");
    await page.getByRole("combobox").fill("order-17");
    await page.getByRole("option", { name: "Open the conversation order-17" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Where is it?" }).waitFor();
  });

  test("the lists of keys begin in one line", async () => {
    await at("?r=24", ["?"], "24");
    await page.getByRole("heading", { name: "Keys" }).waitFor();
    const tops = await page.evaluate<readonly number[]>(`(() => {
      const boxes = [...document.querySelectorAll(".help h3")].map((each) => each.getBoundingClientRect());
      return [...new Set(boxes.map(({ left }) => left))].map((left) => Math.min(...boxes.filter((box) => box.left === left).map(({ top }) => top)));
    })()`);
    expect(tops).toHaveLength(2);
    expect(tops[0]).toBe(tops[1]);
    await page.keyboard.press("Escape");
  });

  test("Back returns to what was seen before a jump, and a reload shows the same", async () => {
    await at("?r=24", [], "24");
    await page.keyboard.press("b");
    await expect.poll(() => query("r")).toBe("47");
    await page.goBack();
    await expect.poll(() => query("r")).toBe("24");
    await page.reload();
    await page.locator(".log-row[aria-selected=true]", { hasText: "Request rebased" }).waitFor();
  });

  test("in the list, j, k and Enter choose and open, and / searches all texts", async () => {
    await page.goto(studio.url);
    await page.locator("[data-selected=true]").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("Termini");
    await page.locator(".hit", { hasText: "Termini" }).first().waitFor();
    await page.keyboard.press("Escape");
    await page.locator("[data-selected=true]").waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".stack").waitFor();
    expect(page.faults).toEqual([]);
  });
});
