import { afterAll, describe, expect, test } from "vitest";
import type { OverviewDocument, Part } from "../../../src/apps/studio/page-documents.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { closeBrowser, newestId, openStudio } from "../../support/studio/browser.ts";
import { damageEvent, hostile, recordHostile } from "../../support/studio/troubled-store.ts";

const demoStore = useDemoStore();

afterAll(closeBrowser);

describe("the page", () => {
  test("shows an empty store what to do, and the first conversation by itself", async () => {
    const address = `sqlite:${temporaryFolder().file("turnlog.db")}`;
    await using studio = await openStudio(address);
    const page = await studio.visit("/");
    await page.getByRole("heading", { name: "No conversations yet" }).waitFor();
    await using other = await openStore(address);
    await other.conversation().append("The first message");
    await page.getByRole("link", { name: /The first message/ }).waitFor();
    await page.getByRole("link", { name: /The first message/ }).click();
    await page.getByText("Nothing sent yet").waitFor();
    await page.getByText("The first request will carry 1 block.").waitFor();
    await page.goto(`${studio.url}/costs`);
    await page.getByRole("heading", { name: "No request was sent" }).waitFor();
    expect(page.faults).toEqual([]);
  });

  test("shows texts, titles and labels that are HTML, scripts or control characters as text, and asks nobody else", async () => {
    const address = `sqlite:${temporaryFolder().file("turnlog.db")}`;
    const id = await recordHostile(address);
    await using studio = await openStudio(address);
    const page = await studio.visit("/");
    await page.getByText("<img src=").first().waitFor();
    for (const path of [
      `/c/${id}`,
      `/c/${id}?view=event`,
      `/c/${id}?view=blame`,
      `/c/${id}?view=diff&base=0`,
      "/costs?by=label:x",
    ]) {
      await page.goto(`${studio.url}${path}`);
      await page.locator(".stack-row, .event-facts, .rows-table, .diff-block, .empty").first().waitFor();
    }
    await page.goto(`${studio.url}/c/${id}`);
    await page.locator(".stack-row").first().waitFor();
    const shown = (await page.locator("body").textContent()) ?? "";
    expect(shown).toContain(hostile[0].slice(0, 60));
    for (const control of ["\u001b", "\u202e", "\u2066"]) expect(shown).not.toContain(control);
    expect(await page.locator("img, script:not([src])").count()).toBe(0);
    expect(await page.title()).toContain("turnlog studio");
    expect(page.faults).toEqual([]);
  });

  test("gives a layer the hue that it had on the page before, also where others come first", async () => {
    await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
    const hues = `[...document.querySelectorAll(".hue")]
      .map((each) => each.textContent.trim().split(/\\s+/).at(-1) + " " + each.className)`;
    const page = await studio.visit("/costs?by=layer");
    await page.locator(".hue").first().waitFor();
    const before = new Set(await page.evaluate<string[]>(hues));
    await page.goto(`${studio.url}/c/${await newestId(studio.store)}?view=blame`);
    await page.locator(".hue", { hasText: "speak-french" }).first().waitFor();
    const after = new Set(await page.evaluate<string[]>(hues));
    const shared = [...before].filter((each) => after.has(each)).map((each) => each.split(" ")[0]);
    const names = (of: ReadonlySet<string>) => new Set([...of].map((each) => each.split(" ")[0]));
    const inBoth = [...names(before)].filter((name) => names(after).has(name));
    expect(inBoth.length).toBeGreaterThan(1);
    expect(shared.toSorted()).toEqual(inBoth.toSorted());
  });

  test("shows a damaged event in red, what is sound before it, and goes on", async () => {
    const folder = demoStore();
    const address = `sqlite:${folder.file("turnlog.db")}`;
    const store = await openStore(address);
    const id = await newestId(store);
    await store[Symbol.asyncDispose]();
    damageEvent(folder.file("turnlog.db"), `conversation-${id}`, 20);
    await using studio = await openStudio(address);
    const page = await studio.visit(`/c/${id}?r=24`);
    const banner = page.getByRole("region", { name: "Damage" });
    await banner.getByRole("heading", { name: "Event r20 is not what was written" }).waitFor();
    await page.getByRole("button", { name: "Show what is stored" }).click();
    await page.getByRole("tabpanel").getByRole("heading", { name: "Event r20 cannot be relied on" }).waitFor();
    await page.keyboard.press("1");
    await page.keyboard.press("B");
    await page.keyboard.press("[");
    await page.getByRole("heading", { name: /Chained: 2 of 7 blocks sent/ }).waitFor();
    await page.getByRole("button", { name: "not checked · check" }).click();
    await page.getByText("fails at r20").waitFor();
    expect(page.faults).toEqual([]);
  });

  test("drops the texts of an open log once another process erased them", async () => {
    const address = `sqlite:${temporaryFolder().file("turnlog.db")}`;
    await using other = await openStore(address);
    const talk = other.conversation("talk");
    const { blocks } = await talk.append("My PIN is 7302.");
    // More than a page of rows: the last page is read again whenever it grows.
    for (let n = 0; n < 230; n += 1) await talk.append(`Message ${n}`);
    await using studio = await openStudio(address);
    const page = await studio.visit("/c/talk?r=1");
    await page.locator(".log-row").getByText("7302").first().waitFor();
    const target = { conversation: talk.id, block: blocks[0]?.id ?? "" };
    await other.erase(await other.planErasure({ blocks: [target] }), { by: "dpo", ground: "gdpr-17" });
    await page.locator(".log-row").getByText("[erased]").first().waitFor();
    expect(await page.locator("body").textContent()).not.toContain("7302");
    expect(page.faults).toEqual([]);
  });

  test("says what it verified, how long ago, and what came since", async () => {
    await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
    const id = await newestId(studio.store);
    const page = await studio.visit(`/c/${id}`);
    await page.getByRole("button", { name: "not checked · check" }).click();
    await page.getByText(/verified, 66 events \d+ s ago/).waitFor();
    await studio.store.conversation(id).append("One more");
    await page.getByText("verified to r65 + 1 new").waitFor();
  });

  test("says when the studio has ended, keeps what it shows, and goes on without a reload", async () => {
    await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
    const id = await newestId(studio.store);
    const page = await studio.visit(`/c/${id}`);
    await page.locator(".stack").waitFor();
    await studio.goAway();
    await page.getByText("The studio does not answer").waitFor();
    expect(await page.locator(".stack-row").count()).toBeGreaterThan(3);
    await studio.comeBack();
    await studio.store.conversation(id).append("Back again");
    await page.locator("[aria-selected=true]", { hasText: "Back again" }).waitFor();
  });

  test.each([
    ["/c/cnv_there_is_none", "The conversation cannot be opened"],
    ["/nowhere", "There is no page /nowhere"],
    ["/c/ID/b/blk_none", "The story cannot be told"],
    ["/costs?by=colour", "The bill cannot be made"],
    ["/?q=Atlantis", "No text in the store matches “Atlantis”"],
    ["/?label=user=nobody", "No conversation matches"],
  ])("%s says what is wrong, and the rest goes on", async (path, words) => {
    await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
    const page = await studio.visit(path.replace("ID", await newestId(studio.store)));
    await page.getByText(words).first().waitFor();
    await page.getByRole("link", { name: "Conversations" }).click();
    await page.getByRole("link", { name: /Rome/ }).waitFor();
    expect(page.faults).toEqual([]);
  });

  test("where the list may not be read, says so and opens a conversation by its id", async () => {
    const address = `sqlite:${demoStore().file("turnlog.db")}`;
    const open = await openStore(address);
    const id = await newestId(open);
    await open[Symbol.asyncDispose]();
    const mine = `conversation-${id}`;
    await using studio = await openStudio(address, {
      authorize: ({ action, stream }) => action === "read" && stream.startsWith(mine),
    });
    const page = await studio.visit("/");
    await page.getByText("The list may not be read").waitFor();
    await page.getByRole("textbox", { name: "Open one by its id" }).fill(id);
    await page.keyboard.press("Enter");
    await page.locator(".stack-row").first().waitFor();
  });

  test("without its token says what to do", async () => {
    await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
    const page = await studio.visit("/");
    await page.context().clearCookies();
    await page.goto(studio.url);
    await page.getByRole("heading", { name: "This page needs its link" }).waitFor();
  });

  test("shows old content while the next loads, and bars only where nothing is there", async () => {
    await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
    const id = await newestId(studio.store);
    const page = await studio.visit(`/c/${id}?r=24`);
    await page.locator(".stack-row").first().waitFor();
    const waiting: (() => void)[] = [];
    await page.route("**/stack/**", async (route) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      await route.continue();
    });
    await page.keyboard.press("b");
    await page.locator("#panel[aria-busy=true]").waitFor();
    expect(await page.locator(".stack-head").textContent()).toContain("Request r24");
    for (const go of waiting) go();
    await page.getByRole("heading", { name: /ask-first removed/ }).waitFor();
    await page.locator("#panel[aria-busy=false]").waitFor();
  });

  test("of a long conversation, what has not come yet has its place, and nothing moves when it comes", async () => {
    await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
    const id = await newestId(studio.store);
    const page = await studio.visit("/");
    // As the handler answers about hundreds of messages: the newest two, and the newest three requests.
    await page.route(`**/api/c/${id}`, async (route) => {
      const answer = await route.fetch();
      const overview = (await answer.json()) as OverviewDocument;
      const newest = <Item>({ items, ...part }: Part<Item>, count: number) => ({
        ...{ ...part, from: items.length - count, items: items.slice(-count) },
      });
      const { groups, requests } = overview;
      const cut = { ...overview, groups: newest(groups, 2), requests: { ...requests, ...newest(requests, 3) } };
      await route.fulfill({ response: answer, json: cut });
    });
    const waiting: (() => void)[] = [];
    for (const part of ["groups", "requests"])
      await page.route(`**/api/c/${id}/${part}?from=0`, async (route) => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        await route.continue();
      });
    await page.goto(`${studio.url}/c/${id}`);
    const selected = page.locator(".log-row[aria-selected=true]");
    await selected.waitFor();
    await expect.poll(() => waiting.length).toBe(2);
    const places = async () => [(await selected.boundingBox())?.y, await page.locator(".strip-cell").count()];
    const before = await places();
    expect(await page.locator(".strip-verdict").count()).toBe(3);
    for (const go of waiting) go();
    await page.locator(".log-row.group", { hasText: "Find me a train" }).waitFor();
    await page.locator(".strip-verdict").nth(7).waitFor();
    expect(await places()).toEqual(before);
    expect(page.faults).toEqual([]);
  });

  test.each([1440, 1280, 1024])(
    "at a width of %i, the stack says in whole words what was sent again",
    async (width) => {
      const address = `sqlite:${demoStore().file("turnlog.db")}`;
      await using studio = await openStudio(address);
      const page = await studio.visit(`/c/${await newestId(studio.store)}?r=62`, { width });
      const named = page.locator(".request-cell .words", { has: page.locator(".state") });
      await named.filter({ hasText: "again" }).first().waitFor();
      for (const words of await named.all()) {
        const [state, shown] = [await words.locator(".state").boundingBox(), await words.boundingBox()];
        // The space behind the word may be cut.
        expect(rightOf(state)).toBeLessThanOrEqual(rightOf(shown) + 4);
      }
      expect(page.faults).toEqual([]);
    },
  );

  test("eight tabs stay live", async () => {
    await using studio = await openStudio(`sqlite:${demoStore().file("turnlog.db")}`);
    const id = await newestId(studio.store);
    const first = await studio.visit(`/c/${id}`);
    const others = await Promise.all(Array.from({ length: 7 }, () => first.context().newPage()));
    for (const other of others) await other.goto(`${studio.url}/c/${id}`);
    await studio.store.conversation(id).append("For all eight");
    for (const page of [first, ...others]) {
      await page.bringToFront();
      await page.locator("[aria-selected=true]", { hasText: "For all eight" }).waitFor();
    }
  });
});

const rightOf = (box: { readonly x: number; readonly width: number } | null): number =>
  box === null ? Number.NaN : box.x + box.width;
