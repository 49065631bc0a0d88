import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { closeBrowser, openStudio, type Visited } from "../../support/studio/browser.ts";

const demoStore = useDemoStore();

afterAll(closeBrowser);

async function drop(page: Visited, name: string, text: string): Promise<void> {
  // Tests know nothing of a page's types.
  const made = `new File([${JSON.stringify(text)}], ${JSON.stringify(name)})`;
  const files = await page.evaluateHandle(
    `(() => { const transfer = new DataTransfer(); transfer.items.add(${made}); return transfer; })()`,
  );
  await page.dispatchEvent("body", "drop", { dataTransfer: files });
}

async function openEmpty() {
  const demo = demoStore();
  const file = demo.file("talk.bundle");
  await turnlogHere(["export", "@last", "-o", file], { cwd: demo.path });
  const studio = await openStudio(`sqlite:${temporaryFolder().file("turnlog.db")}`);
  const page = await studio.visit("/");
  await page.getByRole("heading", { name: "No conversations yet" }).waitFor();
  const bundle = readFileSync(file, "utf8");
  return { ...{ demo, studio, page, bundle }, [Symbol.asyncDispose]: () => studio[Symbol.asyncDispose]() };
}

describe("a bundle that is dropped onto the page", () => {
  test("opens in the place of the store, with every view, until the reader goes back", async () => {
    await using opened = await openEmpty();
    const { page, bundle, demo } = opened;
    await drop(page, "talk.bundle", bundle);
    await page.getByRole("heading", { name: "Showing the bundle talk.bundle" }).waitFor();
    await page.getByRole("link", { name: /A journey to Rome/ }).click();
    await page.locator(".log-row[aria-selected=true]").waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("b");
    await page.getByRole("heading", { name: /shorten-results changed a block/ }).waitFor();
    await page.keyboard.press("3");
    await page.locator(".lines").waitFor();
    const { stdout } = await turnlogHere(["request", "@last@24"], { cwd: demo.path });
    expect(JSON.parse((await page.locator(".lines").textContent()) ?? "")).toEqual(JSON.parse(stdout));
    await page.getByRole("button", { name: "not checked · check" }).click();
    await page.getByText(/verified, 66 events/).waitFor();
    await page.getByRole("button", { name: "Back to the store" }).click();
    await page.getByRole("heading", { name: "No conversations yet" }).waitFor();
    expect(page.faults).toEqual([]);
  });

  test.each([
    ["notes.txt", () => "Dear diary\n", "It is not a bundle of turnlog export."],
    [
      "cut.bundle",
      (whole: string) => whole.slice(0, whole.length / 2),
      "It is cut off: take it from its source again.",
    ],
    [
      "changed.bundle",
      (whole: string) => whole.replace("Termini", "Tiburtina"),
      "It is not what was written: take it from its source again.",
    ],
  ])("%s says why it cannot be opened, and the store stays", async (name, made, words) => {
    await using opened = await openEmpty();
    const { page, bundle } = opened;
    await drop(page, name, made(bundle));
    await page.getByRole("heading", { name: `${name} cannot be opened` }).waitFor();
    await page.getByText(words).waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("heading", { name: "No conversations yet" }).waitFor();
    expect(page.faults).toEqual([]);
  });
});
