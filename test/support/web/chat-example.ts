import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { build } from "vite";
import { start } from "../process.ts";
import { browserPath } from "../studio/browser-path.ts";

const root = join(import.meta.dirname, "../../..");
const folder = join(root, "examples/chat");
const built = join(root, "node_modules/.cache/chat-example");

/** Builds the page of the example. */
export async function buildExample(): Promise<void> {
  await build({
    ...{ configFile: join(folder, "vite.config.ts"), mode: "production", logLevel: "warn" },
    build: { outDir: built },
  });
}

/** The server of the example, in a process of its own over the sources. */
export async function startExample(store: string, port = 0) {
  const sources = join(root, "test/support/package/source-entries.ts");
  const { child, firstLine, ended } = start(process.execPath, ["--import", sources, join(folder, "server.ts")], {
    env: { ...process.env, PORT: String(port), STORE: store, PAGE: built, DEMO_PAUSE_MS: "600", OPENAI_API_KEY: undefined },
  });
  const url = await Promise.race([firstLine, ended.then(({ stderr }) => Promise.reject(new Error(stderr)))]);
  return {
    url: url.trim(),
    port: Number(new URL(url.trim()).port),
    async kill(): Promise<void> {
      child.kill("SIGKILL");
      await ended;
    },
  };
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
