import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { guarded } from "../../../src/apps/studio/guard.ts";
import { LabReport } from "../../../src/apps/studio/lab-report.ts";
import { type Listening, listen } from "../../../src/apps/studio/listen.ts";
import { pageFiles } from "../../../src/apps/studio/page-files.ts";
import { type StudioOptions, studioOver } from "../../../src/apps/studio/studio.ts";
import { WhatIf, type WhatIfStacks } from "../../../src/apps/studio/what-if.ts";
import { Writing } from "../../../src/apps/studio/writing.ts";
import { type OpenStoreOptions, openStore } from "../../../src/conversation/open-store.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { browserPath } from "./browser-path.ts";

let browser: Promise<Browser> | null = null;

const launched = (): Promise<Browser> => {
  browser ??= chromium.launch({ executablePath: browserPath ?? "", args: ["--no-sandbox"] });
  return browser;
};

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = null;
}

const pageRoot = join(import.meta.dirname, "../../../dist/studio");
const token = "0123456789abcdef0123456789abcdef";

export type Visit = {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
  readonly motion?: "reduce";
};

/** The engine that goes on with runs (without it, the studio only reads), other stacks, and the text of a report. */
type Writes = { readonly engine?: Engine; readonly stacks?: WhatIfStacks; readonly report?: string };

/** A studio that listens as the command's does, and pages that visit it. */
export async function openStudio(
  address: string,
  {
    authorize,
    engine,
    stacks,
    report,
    ...options
  }: Partial<StudioOptions> & Pick<OpenStoreOptions, "authorize"> & Writes = {},
) {
  const store = await openStore(address, authorize === undefined ? {} : { authorize });
  const writing = engine === undefined ? {} : { writing: new Writing({ store, engine, stack: "stack.ts", as: "ann" }) };
  const served = studioOver(
    { store, access: () => true, address, ...options },
    {
      ...{ file: pageFiles(pageRoot), ...writing },
      ...(stacks === undefined ? {} : { whatIf: new WhatIf(store.events, stacks) }),
      ...(report === undefined ? {} : { report: LabReport.of("report.jsonl", report) }),
    },
  );
  const serve = (port: number): Promise<Listening> =>
    listen({ host: "127.0.0.1", port, orNext: false }, (taken) => guarded(served, { port: taken, hosts: [], token }));
  let listening: Listening | null = await serve(0);
  const { port } = listening;
  const contexts: BrowserContext[] = [];
  return {
    ...{ store, port, url: `http://127.0.0.1:${port}` },
    /** Opens a page by its link. Fails the test for what a page should never do: an error, or a request to elsewhere. */
    async visit(path: string, { width = 1440, height = 900, scheme = "light", motion }: Visit = {}): Promise<Visited> {
      const context = await (await launched()).newContext({
        ...{ viewport: { width, height }, colorScheme: scheme, permissions: ["clipboard-read", "clipboard-write"] },
        ...(motion === undefined ? {} : { reducedMotion: motion }),
      });
      contexts.push(context);
      context.setDefaultTimeout(8_000);
      const page = await context.newPage();
      const faults: string[] = [];
      page.on("pageerror", (error) => faults.push(error.message));
      page.on("request", (request) => {
        if (!request.url().startsWith(`http://127.0.0.1:${port}/`)) faults.push(`requested ${request.url()}`);
      });
      page.on("console", (message) => {
        if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
          faults.push(message.text());
      });
      const separator = path.includes("?") ? "&" : "?";
      await page.goto(`http://127.0.0.1:${port}${path}${separator}token=${token}`);
      return Object.assign(page, { faults });
    },
    async goAway(): Promise<void> {
      await listening?.[Symbol.asyncDispose]();
      listening = null;
    },
    async comeBack(): Promise<void> {
      listening = await serve(port);
    },
    async [Symbol.asyncDispose]() {
      for (const context of contexts) await context.close();
      await listening?.[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

export type Visited = Page & { readonly faults: readonly string[] };

/** The ids of a store's conversations, the one written last first. */
export async function newestId(store: {
  readonly events: EventStore;
  readonly list: () => Promise<{ readonly conversations: readonly { readonly id: string }[] }>;
}): Promise<string> {
  return (await store.list()).conversations[0]?.id ?? "";
}
