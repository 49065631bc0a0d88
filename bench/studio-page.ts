import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { listen } from "../src/apps/studio/listen.ts";
import { pageFiles } from "../src/apps/studio/page-files.ts";
import { studioOver } from "../src/apps/studio/studio.ts";
import type { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { browserPath } from "../test/support/studio/browser-path.ts";
import { type BenchRow, summary } from "./row.ts";

const [steps, scrolls] = [40, 80];

/** A long conversation in a browser: from the address to its stack, steps by key, and scrolling through its log. Nothing without a browser. */
export function benchStudioPage(
  store: TurnlogStore,
  { id, events }: { readonly id: string; readonly events: number },
): Promise<readonly BenchRow[]> {
  const of = `${events} events`;
  return inPage(store, async (page, address) => {
    const opened = await openedSeconds(async () => {
      await page.goto(`${address}/c/${id}`);
      await page.locator(".stack-row").first().waitFor({ timeout: 60_000 });
      await page.locator(".log-row[aria-selected=true]").waitFor({ timeout: 60_000 });
    });
    const backwards = await stepMs(page, "k");
    const forwards = await stepMs(page, "j");
    return [
      { name: `studio: page of ${of} opens`, value: opened, unit: "s", bound: 2, kind: "at most" },
      { name: `studio: a step back by key in ${of}`, ...summary(backwards), unit: "ms", bound: 60, kind: "at most" },
      { name: `studio: a step forward by key in ${of}`, ...summary(forwards), unit: "ms", bound: 60, kind: "at most" },
      ...(await scrollRows(page, { of, scroll: ".log-scroll", rows: ".log-row, .stack-row" })),
    ];
  });
}

/** The list of many conversations in a browser: from the address to its first rows, and scrolling. Nothing without a browser. */
export function benchListPage(store: TurnlogStore): Promise<readonly BenchRow[]> {
  const of = "10,000 conversations";
  return inPage(store, async (page, address) => {
    const opened = await openedSeconds(async () => {
      await page.goto(`${address}/`);
      await page.locator(".conversation-row").first().waitFor({ timeout: 60_000 });
    });
    return [
      { name: `studio: page of ${of} opens`, value: opened, unit: "s", bound: 2, kind: "at most" },
      ...(await scrollRows(page, { of, scroll: ".list-scroll", rows: ".conversation-row, .day-row" })),
    ];
  });
}

async function inPage(
  store: TurnlogStore,
  look: (page: Page, address: string) => Promise<readonly BenchRow[]>,
): Promise<readonly BenchRow[]> {
  if (browserPath === null) return [];
  const file = pageFiles(join(import.meta.dirname, "../dist/studio"));
  const studio = studioOver({ store, access: () => true }, { file });
  await using served = await listen({ host: "127.0.0.1", port: 0, orNext: false }, () => studio);
  const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage({ viewport: { width: 1_440, height: 900 } });
    return await look(page, `http://127.0.0.1:${served.port}`);
  } finally {
    await browser.close();
  }
}

async function openedSeconds(open: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await open();
  return (performance.now() - from) / 1_000;
}

/** Scrolling, and what the page holds after it. */
async function scrollRows(
  page: Page,
  { of, scroll, rows }: { readonly of: string; readonly scroll: string; readonly rows: string },
): Promise<readonly BenchRow[]> {
  const frames = await scrollMs(page, scroll);
  const [count, heap] = [await page.locator(rows).count(), await heapOf(page)];
  return [
    {
      name: `studio: frames while the page of ${of} scrolls, p95`,
      ...{ value: p95(frames), unit: "ms", bound: 34, kind: "at most" },
    },
    { name: `studio: rows in the page of ${of}`, value: count, unit: "rows", bound: 60, kind: "at most" },
    { name: `studio: heap of the page of ${of}`, value: heap, unit: "MB", bound: 120, kind: "at most" },
  ];
}

/** From a key to the stack of the next event. */
async function stepMs(page: Page, key: "j" | "k"): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let step = 0; step < steps; step += 1) {
    const from = performance.now();
    await page.keyboard.press(key);
    await page.locator("#panel[aria-busy=false]").waitFor();
    taken.push(performance.now() - from);
  }
  return taken;
}

/** The times between frames, with a wheel's turn in each. */
const scrollMs = (page: Page, scroll: string): Promise<readonly number[]> =>
  page.evaluate(`(async () => {
    const log = document.querySelector(${JSON.stringify(scroll)});
    const times = [];
    let last = await new Promise(requestAnimationFrame);
    for (let turn = 0; turn < ${scrolls}; turn += 1) {
      log.scrollBy(0, turn < ${scrolls / 2} ? -240 : 240);
      const now = await new Promise(requestAnimationFrame);
      times.push(now - last);
      last = now;
    }
    return times;
  })()`);

const p95 = (times: readonly number[]): number =>
  times.toSorted((left, right) => left - right)[Math.floor(times.length * 0.95)] ?? Number.NaN;

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize / 1_000_000;
}
