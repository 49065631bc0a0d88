import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Engine, engineOf } from "../../../src/engine/options/engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { expectAccessible, expectFits } from "../../support/studio/axe.ts";
import { closeBrowser, newestId, openStudio } from "../../support/studio/browser.ts";
import { stackIn } from "../../support/studio/stack-in.ts";

const demoStore = useDemoStore();

afterAll(closeBrowser);

const file = join(import.meta.dirname, "../../support/cli/demo-stack.ts");

async function openDemo({ hasReport = false } = {}) {
  const folder = demoStore();
  const stack = { ...(await stackIn(file)), file: "./agent.ts" };
  const words = [
    "regress",
    "--all",
    "--stack",
    file,
    "--without",
    "shorten-results",
    "--report",
    folder.file("r.jsonl"),
  ];
  if (hasReport) await turnlogHere(words, { cwd: folder.path });
  const report = hasReport ? { report: readFileSync(folder.file("r.jsonl"), "utf8") } : {};
  const studio = await openStudio(`sqlite:${folder.file("turnlog.db")}`, { stacks: { stack, other: null }, ...report });
  return Object.assign(studio, { id: await newestId(studio.store) });
}

test("a person asks what would have been without a layer, and lands at the first difference", async () => {
  await using studio = await openDemo();
  const page = await studio.visit(`/c/${studio.id}?r=24`);
  await page.locator(".log-row[aria-selected=true]").waitFor();
  await page.keyboard.press("w");
  await page.getByRole("button", { name: "without shorten-results" }).click();
  await page.getByRole("heading", { name: "6 of 8 requests would have been different" }).waitFor();
  await page.getByText("Broken chains: 3 before, 2 then. Sent: 15,580 B before, 17,248 B then.").waitFor();
  await page.locator(".step-row[aria-current=true]", { hasText: "r24" }).waitFor();
  await page.locator("del", { hasText: "[shortened]" }).waitFor();
  await page.keyboard.press("n");
  await page.locator(".step-row[aria-current=true]", { hasText: "r31" }).waitFor();
  expect(new URL(page.url()).searchParams.get("step")).toBe("4");
  await page.reload();
  await page.locator(".step-row[aria-current=true]", { hasText: "r31" }).waitFor();
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  await page.getByText("The bodies are the same, byte for byte.").waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".log-row[aria-selected=true]", { hasText: "16" }).waitFor();
  expect(page.faults).toEqual([]);
});

test("a stack that fails runs says how many in the same way, which first, and by which layer", async () => {
  const stack = await stackIn(file);
  const broken = defineMiddleware({ name: "broken", version: "1" }, () => () => {
    throw new TypeError("there is no result");
  });
  const { options } = stack.engine;
  const engine: Engine = engineOf({ ...options, layers: [...options.layers, broken] });
  const stacks = { stack: null, other: { ...stack, file: "./changed.ts", engine } };
  await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`, { stacks });
  const page = await studio.visit(`/c/${await newestId(studio.store)}/what-if`);
  await page.getByRole("heading", { name: "8 of 8 requests would have been different" }).waitFor();
  await page
    .getByRole("status", { name: "Verdict" })
    .getByText(
      / then\. 5 runs, run_\w+ first, would have failed by layer broken \(layer-failed\): there is no result\.$/,
    )
    .waitFor();
  await expectAccessible(page);
  expect(page.faults).toEqual([]);
});

test("each changed request of a report of regress opens in two columns", async () => {
  await using studio = await openDemo({ hasReport: true });
  const page = await studio.visit("/report");
  await page.getByRole("heading", { name: "6 of 8 requests change in 1 of 1 conversation" }).waitFor();
  await expectAccessible(page);
  await page.keyboard.press("j");
  await page.locator("tr[data-selected=true]", { hasText: "r31" }).waitFor();
  await page.getByRole("link", { name: "r62" }).click();
  await page.locator(".step-row[aria-current=true]", { hasText: "r62" }).waitFor();
  await page.getByText("Sent at r62, 4,061 B").waitFor();
  await page.getByText("Would have been sent, 6,284 B").waitFor();
  expect(page.faults).toEqual([]);
});

test("without a stack the page says how to start with one", async () => {
  await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
  const page = await studio.visit(`/c/${await newestId(studio.store)}/what-if`);
  await page.getByRole("heading", { name: "This studio has no stack to ask" }).waitFor();
  await page.goto(`${studio.url}/report`);
  await page.getByText("There is no report").waitFor();
  expect(page.faults).toEqual([]);
});

test("the page of what would have been is accessible in both themes, and fits", async () => {
  await using studio = await openDemo();
  for (const [scheme, width] of [
    ["light", 1440],
    ["dark", 1024],
    ["light", 720],
    ["dark", 390],
  ] as const) {
    const page = await studio.visit(`/c/${studio.id}/what-if?without=shorten-results`, { scheme, width, height: 800 });
    await page.locator("del").first().waitFor();
    await expectFits(page, `at ${width}`);
    if (width !== 720) await expectAccessible(page);
  }
});
