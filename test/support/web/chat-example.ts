import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { build } from "vite";
import { browserPath } from "../studio/browser-path.ts";
import { builtPage, exampleFolder } from "./example-server.ts";

/** Builds the page of the example. */
export async function buildExample(): Promise<void> {
  await build({
    ...{ configFile: join(exampleFolder, "vite.config.ts"), mode: "production", logLevel: "warn" },
    build: { outDir: builtPage },
  });
}

let browser: Promise<Browser> | null = null;

export async function openPage(): Promise<Page> {
  browser ??= chromium.launch({ executablePath: browserPath ?? "", args: ["--no-sandbox"] });
  const page = await (await browser).newPage();
  page.setDefaultTimeout(20_000);
  return page;
}

export async function closePages(): Promise<void> {
  await (await browser)?.close();
  browser = null;
}

/** What a person sees of the conversation. */
export const shownOn = (page: Page): Promise<readonly string[]> => page.locator("section").allInnerTexts();

/** Waits until nothing arrives any more. */
export async function untilReady(page: Page): Promise<void> {
  await page.locator("[role=status]", { hasText: /^(ready|error)$/ }).waitFor();
}

export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}
