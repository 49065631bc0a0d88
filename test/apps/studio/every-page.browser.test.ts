import { afterAll, expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { expectAccessible, expectFits } from "../../support/studio/axe.ts";
import { closeBrowser, newestId, openStudio } from "../../support/studio/browser.ts";
import { reportText } from "../../support/studio/report-text.ts";
import { recordWaiting, waitingIds } from "../../support/studio/waiting-store.ts";

const demoStore = useDemoStore();
const title = "A journey to Rome and back again, with the children, by the night train";
const unsent = "cnv_nothing_sent";

/** The demo's conversation with a long title and an erased fork, one that nothing was sent of, and each of those that wait. */
async function openFilled() {
  const address = `sqlite:${demoStore().file("turnlog.db")}`;
  const store = await openStore(address);
  const demo = await newestId(store);
  const { blocks } = (await store.conversation(demo).at(-1)).turn;
  await store.conversation(demo).relabel({ title, labels: { user: "ada" } });
  await store.conversation(unsent).append("Nobody has answered this yet.");
  const fork = await store.conversation(demo).fork(24, { id: "cnv_fork" });
  await fork.append("Another question");
  const block = (await fork.at(-1)).turn.blocks.at(-1)?.id ?? "";
  await store.erase(await store.planErasure({ blocks: [{ conversation: fork.id, block }] }), {
    by: "dpo",
    ground: "gdpr-17",
  });
  await store[Symbol.asyncDispose]();
  await recordWaiting(address);
  const studio = await openStudio(address, { report: reportText(demo, 24) });
  return Object.assign(studio, { demo, block: blocks[5]?.id ?? "" });
}

const openEmpty = async () =>
  Object.assign(await openStudio(`sqlite:${temporaryFolder().file("turnlog.db")}`), { demo: "", block: "" });

afterAll(closeBrowser);

/** Each page with a text that is there once all of it is. `DEMO` and `BLOCK` are ids. */
const pages: readonly (readonly [path: string, text: string])[] = [
  ["/", title],
  ["/?q=Rome", "Find me a train"],
  ["/?q=Atlantis", "No text in the store matches"],
  ["/c/DEMO?r=24", "changed a block that the server already held"],
  ["/c/DEMO?r=23&view=diff", "what this event changed"],
  ["/c/DEMO?r=24&view=body", "as sent at r24"],
  ["/c/DEMO?r=24&view=blame", "Last changed by"],
  ["/c/DEMO?r=24&view=time", "Run from r20"],
  ["/c/DEMO?r=24&view=event", "InferenceRequested"],
  ["/c/DEMO?r=24&view=why", "Chain broken by"],
  ["/c/DEMO/b/BLOCK", "This ended the chain"],
  ["/c/DEMO/forks", "this one"],
  ["/c/DEMO/what-if", "This studio has no stack to ask"],
  [`/c/${unsent}`, "Nobody has answered this yet."],
  [`/c/${waitingIds.failed}`, "The request was refused (400): the model is overloaded"],
  ["/c/cnv_none", "The conversation cannot be opened"],
  ["/inbox", "it spends 119 euros"],
  ["/costs", "Requests that paid most again"],
  ["/audit", "gdpr-17"],
  ["/report", "1 of 8 requests change"],
  ["/nowhere", "There is no page /nowhere"],
];

const emptyPages: typeof pages = [
  ["/", "turnlog demo"],
  ["/inbox", "Nothing waits"],
  ["/costs", "No request was sent"],
  ["/audit", "Nothing was erased from this store"],
  ["/report", "There is no report"],
];

const widths = [1440, 1024, 820, 390] as const;

/** What scrolls sideways, too, or is as wide as what it is in. */
const twoWays = `[...document.querySelectorAll("*")]
  .filter((each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowY))
  .filter((each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowX))
  .filter((each) => each.scrollWidth > each.clientWidth && each.scrollHeight > each.clientHeight)
  .map((each) => each.className)`;

test.each([
  ["a store", openFilled, pages],
  ["an empty store", openEmpty, emptyPages],
] as const)(
  "every page of %s fits at each width, is accessible in both themes and logs no error",
  async (_, open, shown) => {
    await using studio = await open();
    // Without motion: colours change at once.
    const page = await studio.visit("/", { height: 800, motion: "reduce" });
    for (const [path, text] of shown) {
      await page.setViewportSize({ width: 1440, height: 800 });
      await page.goto(`${studio.url}${path.replace("DEMO", studio.demo).replace("BLOCK", studio.block)}`);
      for (const width of widths) {
        await page.setViewportSize({ width, height: 800 });
        await page.getByText(text).filter({ visible: true }).first().waitFor();
        await expectFits(page, `${path} at ${width}`);
        expect(await page.evaluate(twoWays), `${path} at ${width}`).toEqual([]);
        await page.emulateMedia({ colorScheme: "light" });
        await expectAccessible(page);
        // A theme changes nothing but colours.
        await page.emulateMedia({ colorScheme: "dark" });
        await expectAccessible(page, ["color-contrast", "link-in-text-block"]);
      }
    }
    expect(page.faults).toEqual([]);
  },
);

test("a text that is cut has its whole as the title under the pointer, and none where it has room", async () => {
  await using studio = await openFilled();
  const page = await studio.visit(`/c/${studio.demo}`, { width: 390 });
  const cut = page.getByRole("heading", { name: title });
  await cut.hover();
  expect(await cut.getAttribute("title")).toBe(title);
  await page.setViewportSize({ width: 1440, height: 800 });
  await page.locator(".brand").hover();
  await cut.hover();
  expect(await cut.getAttribute("title")).toBeNull();
  expect(page.faults).toEqual([]);
});

test("nothing fades for a person who asks for less motion", async () => {
  await using studio = await openEmpty();
  const durations = async (motion?: "reduce") => {
    const page = await studio.visit("/", motion === undefined ? {} : { motion });
    await page.keyboard.press("?");
    await page.locator("dialog[open]").waitFor();
    return page.evaluate(
      "[getComputedStyle(document.querySelector('.ghost')).transitionDuration, getComputedStyle(document.querySelector('dialog')).animationDuration]",
    );
  };
  expect(await durations()).toEqual(["0.08s", "0.12s"]);
  expect(await durations("reduce")).toEqual(["0s", "0s"]);
});
