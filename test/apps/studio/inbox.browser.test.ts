import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { externalTool, tool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { expectAccessible, expectFits } from "../../support/studio/axe.ts";
import { closeBrowser, openStudio } from "../../support/studio/browser.ts";
import { hostile } from "../../support/studio/troubled-store.ts";
import { bookingAgent, recordWaiting, waitingIds } from "../../support/studio/waiting-store.ts";

afterAll(closeBrowser);

/** A studio over a store in which something of each kind waits. */
async function openWaiting({ writes = true } = {}) {
  const address = `sqlite:${temporaryFolder().file("turnlog.db")}`;
  await recordWaiting(address);
  const agent = bookingAgent();
  const studio = await openStudio(address, writes ? { engine: agent.engine } : {});
  return Object.assign(studio, { did: agent.did });
}

/** A studio over a run that waits for an external tool. Its engine may lack the layer of the run, and its model takes its time. */
async function openLocating({ isLayered = true, afterMs = 0 }) {
  const address = `sqlite:${temporaryFolder().file("turnlog.db")}`;
  const locate = externalTool({ name: "locate", description: "Asks where", inputSchema: z.object({}) });
  const model = scripted([calling(["locate", "{}"]), "In Ghent."]);
  const pass = defineMiddleware({ name: "pass", version: "1.0.0" }, (next) => (turn) => next(turn));
  await using store = await openStore(address);
  const talk = store.conversation("talk");
  await talk.append("Where am I?");
  await talk.run(createEngine({ provider: model, tools: [locate], middleware: [pass] }));
  const infer: typeof model.infer = async (request) => {
    await new Promise((over) => setTimeout(over, afterMs));
    return model.infer(request);
  };
  const middleware = isLayered ? [pass] : [];
  return await openStudio(address, {
    engine: createEngine({ provider: { ...model, infer }, tools: [locate], middleware }),
  });
}

test("a result whose run cannot go on is recorded, and the page says both", async () => {
  await using studio = await openLocating({ isLayered: false });
  const page = await studio.visit("/inbox");
  await page.getByRole("textbox", { name: "Result" }).fill("Ghent");
  await page.getByRole("button", { name: /Record the result/ }).click();
  await page.getByText("Settled as ann. That is recorded, but the run did not go on: ").waitFor();
  expect(await page.getByText("This was not done").count()).toBe(0);
  await page.getByRole("button", { name: "From outside 0" }).waitFor();
});

test("a run that went on when the answer came has its end on the page", async () => {
  await using studio = await openLocating({ afterMs: 1_500 });
  const page = await studio.visit("/inbox");
  await page.getByRole("textbox", { name: "Result" }).fill("Ghent");
  await page.getByRole("button", { name: /Record the result/ }).click();
  await page.getByText("Settled as ann. The run goes on.").waitFor();
  await page.getByText("Settled as ann. The run has ended.").waitFor();
  expect((await studio.store.conversation("talk").turn()).last?.text).toBe("In Ghent.");
});

describe("a person who answers what waits", () => {
  test("sees how much waits on every page, approves a call by its key, and the run goes on", async () => {
    await using studio = await openWaiting();
    const page = await studio.visit("/");
    await page.getByRole("link", { name: "Inbox 7 waiting" }).click();
    await page.getByRole("heading", { name: "Run book?" }).waitFor();
    expect(await page.evaluate("document.activeElement.tagName")).toBe("H2");
    await page.getByText("it spends 119 euros.", { exact: true }).waitFor();
    expect(await page.locator("pre.input").textContent()).toContain('"train": "06:26"');
    await page.keyboard.press("a");
    await page.getByText("Approved as ann.").waitFor();
    await page.getByRole("link", { name: "Inbox 6 waiting" }).waitFor();
    expect(studio.did).toEqual([{ train: "06:26", day: "Friday" }]);
    // What was asked stays beside the answer.
    expect(await page.locator("pre.input").textContent()).toContain('"train": "06:26"');
    expect(await page.locator(".lead strong").textContent()).toBe("it spends 119 euros.");
    // The next key answers nothing else.
    await page.keyboard.press("a");
    await page.keyboard.press("d");
    await page.getByText("Approved as ann.").waitFor();
    await page.getByRole("link", { name: "See what came of it" }).click();
    await page.locator(".log-row", { hasText: "K7Q2" }).first().waitFor();
    expect(page.faults).toEqual([]);
  });

  test("approves with another input, which the tool's schema checks first", async () => {
    await using studio = await openWaiting();
    const page = await studio.visit("/inbox");
    await page.getByRole("heading", { name: "Run book?" }).waitFor();
    await page.keyboard.press("e");
    const input = page.getByRole("textbox", { name: "Another input, as JSON" });
    await input.fill('{"train":');
    await page.getByRole("button", { name: /Approve with this input/ }).click();
    await page.getByText("The input is not JSON.").waitFor();
    await input.fill('{"train":8,"day":"Friday"}');
    await page.getByRole("button", { name: /Approve with this input/ }).click();
    await page.getByText("the tool does not take the edited input").waitFor();
    await input.fill('{"train":"08:26","day":"Friday"}');
    await page.getByRole("button", { name: /Approve with this input/ }).click();
    await page.getByText("Approved with another input as ann.").waitFor();
    await page.locator("pre.input", { hasText: "08:26" }).waitFor();
    expect(studio.did).toEqual([{ train: "08:26", day: "Friday" }]);
    expect(page.faults).toEqual([]);
  });

  test("denies with a reason, which the model reads", async () => {
    await using studio = await openWaiting();
    const page = await studio.visit("/inbox");
    await page.getByRole("textbox", { name: "Reason" }).fill("too dear");
    await page.getByRole("button", { name: /Deny/ }).click();
    await page.getByText("Denied as ann.").waitFor();
    expect(studio.did).toEqual([]);
    expect((await studio.store.conversation(waitingIds.approval).turn()).last?.text).toContain("too dear");
  });

  test("settles, records results, resumes, runs again, takes over, and gives up only at the second press", async () => {
    await using studio = await openWaiting();
    const page = await studio.visit("/inbox?kind=doubt");
    await page.getByRole("heading", { name: "Did charge happen?" }).waitFor();
    await page.keyboard.press("r");
    await page.getByText("Settled as ann.").waitFor();
    expect(studio.did).toEqual([5]);
    await page.getByRole("button", { name: "From outside 1" }).click();
    await page.getByRole("heading", { name: "What did locate give?" }).waitFor();
    await page.keyboard.press("s");
    await page.locator("#result:focus").waitFor();
    await page.keyboard.type('{"city":"Ghent"}');
    await page.getByRole("button", { name: /Record the result/ }).click();
    await page.getByText("Settled as ann.").waitFor();
    expect((await studio.store.conversation(waitingIds.external).turn()).last?.text).toContain("Ghent");
    await page.goto(`${studio.url}/inbox?c=${waitingIds.ready}`);
    await page.getByText("Everything is decided, and no process goes on with the run.").waitFor();
    await page.keyboard.press("r");
    await page.getByText("Resumed as ann.").waitFor();
    await page.goto(`${studio.url}/inbox?c=${waitingIds.failed}`);
    await page.getByText("the model is overloaded.").waitFor();
    const place = page.getByRole("link", { name: "Open the conversation at r" });
    const before = await place.textContent();
    await page.keyboard.press("r");
    await page.getByText("Run again as ann.").waitFor();
    // What was asked stays, also once the page has read what came of it.
    await expect.poll(() => place.textContent()).not.toBe(before);
    expect(await page.locator(".lead strong").textContent()).toBe("the model is overloaded.");
    await page.goto(`${studio.url}/inbox?c=${waitingIds.elsewhere}`);
    await page.getByText("4711 on not-").waitFor();
    await page.getByRole("button", { name: /Take it over/ }).click();
    await page.getByText("Resumed as ann.").waitFor();
    await page.goto(`${studio.url}/inbox?c=${waitingIds.parked}`);
    await page.getByRole("button", { name: /Give it up …/ }).waitFor();
    await page.keyboard.press("u");
    await page.getByRole("button", { name: /Give it up for good/ }).waitFor();
    expect(studio.did).toHaveLength(3);
    await page.keyboard.press("u");
    await page.getByText("Given up as ann.").waitFor();
    expect(page.faults).toEqual([]);
  });

  test("moves by keys, and a link opens the same item", async () => {
    await using studio = await openWaiting();
    const page = await studio.visit("/inbox");
    await page.getByRole("heading", { name: "Run book?" }).waitFor();
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "Did charge happen?" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Did charge happen?" }).waitFor();
    await page.keyboard.press("k");
    await page.getByRole("heading", { name: "Run book?" }).waitFor();
    await page.keyboard.press("o");
    await page.locator(".log-row[aria-selected=true]").waitFor();
    expect(page.url()).toContain(`/c/${waitingIds.approval}`);
  });

  test("sees what another process decides or asks, without a reload", async () => {
    await using studio = await openWaiting();
    const page = await studio.visit("/inbox");
    await page.getByRole("heading", { name: "Run book?" }).waitFor();
    const { run } = await (await studio.store.conversation(waitingIds.approval).at(-1)).load();
    const call = run?.waitingFor[0]?.blockId ?? "";
    await studio.store.conversation(waitingIds.approval).deny(call, { actor: { kind: "user", name: "bob" } });
    await page.locator(".inbox-item", { hasText: "Approve book" }).waitFor({ state: "detached" });
    await page.goto(`${studio.url}/inbox?c=${waitingIds.approval}&b=${encodeURIComponent(call)}`);
    await page.getByRole("heading", { name: "This does not wait any more" }).waitFor();
    expect(page.faults).toEqual([]);
  });
});

test("a studio that only reads shows the command that answers, and no button that does", async () => {
  await using studio = await openWaiting({ writes: false });
  const page = await studio.visit("/inbox");
  await page.getByText(`turnlog approve ${waitingIds.approval}`).waitFor();
  await page.getByText("turnlog studio --write --stack FILE --as NAME").waitFor();
  expect(await page.getByRole("button", { name: /Approve|Deny/ }).count()).toBe(1);
  await page.keyboard.press("a");
  await page.getByRole("link", { name: "Inbox 7 waiting" }).waitFor();
  expect(page.faults).toEqual([]);
});

test("an input and a reason with control characters are shown as text, and sent back as they are", async () => {
  const address = `sqlite:${temporaryFolder().file("turnlog.db")}`;
  const seen: unknown[] = [];
  const ask = tool({
    ...{ name: "ask", description: "Asks.", inputSchema: z.object({ text: z.string() }) },
    needsApproval: `${hostile[0]} ${hostile[2]}`,
    execute: (input) => void seen.push(input),
  });
  const text = hostile.join(" ");
  const engine = createEngine({
    provider: scripted([calling(["ask", JSON.stringify({ text })]), "Done."]),
    tools: [ask],
  });
  await using studio = await openStudio(address, { engine });
  const conversation = studio.store.conversation("cnv_hostile_call");
  await conversation.append(hostile[0]);
  await conversation.run(engine);
  const page = await studio.visit("/inbox");
  await page.getByRole("heading", { name: "Run ask?" }).waitFor();
  const shown = (await page.locator("body").textContent()) ?? "";
  for (const control of ["\u001b", "\u202e", "\u2066"]) expect(shown).not.toContain(control);
  expect(await page.locator("img, script:not([src])").count()).toBe(0);
  await page.keyboard.press("e");
  await page.getByRole("button", { name: /Approve with this input/ }).click();
  await page.getByText("Approved with another input as ann.").waitFor();
  expect(seen).toEqual([{ text }]);
  expect(page.faults).toEqual([]);
});

test("an empty store says what comes here", async () => {
  await using studio = await openStudio(`sqlite:${temporaryFolder().file("turnlog.db")}`);
  const page = await studio.visit("/inbox");
  await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  expect(page.faults).toEqual([]);
});

test("the inbox is accessible in both themes, and fits four widths", async () => {
  await using studio = await openWaiting();
  for (const scheme of ["light", "dark"] as const) {
    const page = await studio.visit("/inbox", { scheme });
    await page.locator(".decision h2").waitFor();
    await expectAccessible(page);
  }
  for (const [width, height] of [
    [1440, 900],
    [1024, 768],
    [720, 450],
    [390, 844],
  ] as const)
    for (const path of ["/inbox", `/inbox?c=${waitingIds.elsewhere}`]) {
      const page = await studio.visit(path, { width, height });
      await page.locator(".inbox-item:visible, .decision h2:visible").first().waitFor();
      await expectFits(page, `${path} at ${width}`);
      if (width === 390) await expectAccessible(page);
    }
});
