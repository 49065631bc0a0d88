import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { expect, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { browserPath } from "../../support/studio/browser-path.ts";

const demoStore = useDemoStore();

/** Opens a file without any network, and tells what it asked for. */
async function openFile(file: string) {
  const browser = await chromium.launch({ executablePath: browserPath ?? "", args: ["--no-sandbox"] });
  const context = await browser.newContext({ offline: true });
  const page = await context.newPage();
  page.setDefaultTimeout(8_000);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("pageerror", (error) => asked.push(error.message));
  await page.goto(pathToFileURL(file).href);
  return { page, asked, [Symbol.asyncDispose]: () => browser.close() };
}

test("export --html writes one file that opens from disk, offline, and shows the same pages", async () => {
  const folder = demoStore();
  const file = folder.file("page.html");
  const outcome = await turnlogHere(["export", "@last", "--html", file], { cwd: folder.path });
  expect(outcome).toMatchObject({ code: 0, stdout: `66 events written to ${file}\n` });
  await using opened = await openFile(file);
  const { page, asked } = opened;
  await page.getByRole("link", { name: /A journey to Rome/ }).click();
  await page.locator(".log-row[aria-selected=true]").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  await page.getByRole("heading", { name: /shorten-results changed a block/ }).waitFor();
  await page.keyboard.press("3");
  const { stdout } = await turnlogHere(["request", "@last@24"], { cwd: folder.path });
  await page.locator(".lines").waitFor();
  expect(JSON.parse((await page.locator(".lines").textContent()) ?? "")).toEqual(JSON.parse(stdout));
  await page.getByRole("button", { name: "not checked · check" }).click();
  await page.getByText(/verified, 66 events/).waitFor();
  await page.keyboard.press("1");
  await page.getByRole("link", { name: "Story of block 5" }).click();
  await page.getByText("This ended the chain").waitFor();
  await page.getByRole("link", { name: "Costs" }).click();
  await page.getByRole("table", { name: "Bill by layer" }).waitFor();
  await page.getByRole("table", { name: "Misses by cause" }).waitFor();
  await page.goBack();
  await page.getByText("This ended the chain").waitFor();
  await page.reload();
  await page.getByText("This ended the chain").waitFor();
  expect(new Set(asked.map((url) => url.replace(/#.*/, "")))).toEqual(new Set([pathToFileURL(file).href]));
});

test("with --redact the file has no text of the conversation", async () => {
  const folder = demoStore();
  const file = folder.file("page.html");
  expect(await turnlogHere(["export", "@last", "--html", file, "--redact"], { cwd: folder.path })).toMatchObject({
    code: 0,
  });
  const packed = /id="turnlog-data"[^>]*>([^<]*)</.exec(readFileSync(file, "utf8"))?.[1] ?? "";
  const data = gunzipSync(Buffer.from(packed, "base64")).toString();
  expect(data).toContain("InferenceRequested");
  for (const said of ["Rome", "ada@example.org", "Termini", "K7Q2"]) expect(data).not.toContain(said);
  await using opened = await openFile(file);
  await opened.page.getByText("texts redacted").waitFor();
});

test("a file of another kind is not replaced", async () => {
  const folder = demoStore();
  const outcome = await turnlogHere(["export", "@last", "--html", folder.file("turnlog.db")], { cwd: folder.path });
  expect(outcome).toMatchObject({ code: 2 });
  expect(outcome.stderr).toContain("is not a page");
});
