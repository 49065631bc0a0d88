import { afterAll, expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { closeBrowser, openStudio } from "../../support/studio/browser.ts";

afterAll(closeBrowser);

test("revisions of four and more digits stay beside the signs of the log", async () => {
  const address = `sqlite:${temporaryFolder().file("turnlog.db")}`;
  await using store = await openStore(address);
  await store.conversation("long").append(Array.from({ length: 1_200 }, (_, n) => user(`Message ${n}`)));
  await using studio = await openStudio(address);
  const page = await studio.visit("/c/long");
  await page.locator(".log-row", { hasText: "1,200" }).last().waitFor();
  const overlaps = await page.evaluate<readonly string[]>(`[...document.querySelectorAll(".log-row .r")]
    .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent)`);
  expect(overlaps).toEqual([]);
  expect(page.faults).toEqual([]);
});

test("a request that failed has another sign than one that was sent in full, also where the strip has no words", async () => {
  const address = `sqlite:${temporaryFolder().file("turnlog.db")}`;
  await using store = await openStore(address);
  const talk = store.conversation("talk");
  const refusal = { error: { status: 400, message: "no" } };
  const answers = Array.from({ length: 20 }, () => "Hi.");
  const late = defineMiddleware({ name: "late", version: "1.0.0" }, (next) => (turn) => {
    const [first] = turn.blocks;
    return next(turn.length < 39 || first === undefined ? turn : turn.replace(first, first.withText("Changed late.")));
  });
  const engine = createEngine({ provider: scripted([...answers, refusal]), middleware: [late] });
  for (let n = 0; n <= answers.length; n += 1) {
    await talk.append(`Message ${n}`);
    await talk.run(engine).catch(() => undefined);
  }
  await using studio = await openStudio(address);
  const page = await studio.visit("/c/talk");
  const shape = async (verdict: string): Promise<string | null> =>
    page.locator(`.strip-verdict.${verdict} path`).first().getAttribute("d");
  expect(await shape("failed")).not.toBe(await shape("full"));
  await page.keyboard.press("7");
  await page.locator("dt", { hasText: "Asked" }).waitFor();
  const asked = await page.locator("dt", { hasText: "Asked" }).locator("+ dd").textContent();
  expect(asked).toBe("scripted, model scripted");
  await page.locator(".log-row", { hasText: /(Refused|Failed): no/ }).waitFor();
  expect(page.faults).toEqual([]);
});
