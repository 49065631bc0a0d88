import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { cases } from "../../support/cases.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { buildExample, closePages, openPage, say, shownOn, untilReady } from "../../support/web/chat-example.ts";
import { startExample } from "../../support/web/example-server.ts";

beforeAll(buildExample);
afterAll(closePages);

const image = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);

test("a page asks, calls tools, asks a person, sends an image, changes the provider, and shows the same when it is loaded again", async () => {
  await using server = await startExample(`sqlite:${temporaryFolder().file("chat.db")}`);
  const page = await openPage();
  await page.goto(server.url);
  await say(page, "The weather in Ghent?");
  await page.getByText("The tool says: Ghent: sunny, 7 degrees.").waitFor();
  await untilReady(page);
  await page.getByLabel("Provider").selectOption("completions");
  await say(page, "Refund order 17.");
  await page.getByText("refunds over 100 euros are checked").waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByText("The tool says: refunded 250 euros.").waitFor();
  await untilReady(page);
  await page.getByLabel("Image").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: image });
  await say(page, "What is this?");
  await page.getByText("I see an image.").waitFor();
  await untilReady(page);
  expect(await page.locator("[role=alert]").count()).toBe(0);
  const before = await shownOn(page);
  expect(before).toHaveLength(6);
  await page.reload();
  await page.getByText("I see an image.").waitFor();
  expect(await shownOn(page)).toEqual(before);
  expect(await page.locator("img").count()).toBe(1);
});

test("stop ends the answer on all pages", async () => {
  await using server = await startExample(`sqlite:${temporaryFolder().file("chat.db")}`);
  const [page, other] = [await openPage(), await openPage()];
  await page.goto(server.url);
  await say(page, "Hello");
  await page.getByText("I can tell").waitFor();
  await other.goto(page.url());
  await other.getByText("I can tell").waitFor();
  await other.getByRole("button", { name: "Stop" }).click();
  await untilReady(page);
  await untilReady(other);
  await page.reload();
  await page.getByText("Hello").waitFor();
  expect(await shownOn(other)).toEqual(await shownOn(page));
});

const answered = (texts: readonly string[]): boolean => texts.at(-1)?.includes("takes a moment to arrive.") === true;

test("a page that is loaded again at any moment of an answer ends with the same messages", async () => {
  await using server = await startExample(`sqlite:${temporaryFolder().file("chat.db")}`);
  const page = await openPage();
  await page.goto(server.url);
  for (let moment = 0; moment < cases(6, 20); moment += 1) {
    const count = (await shownOn(page)).length;
    const taken = page.waitForResponse((response) => response.request().method() === "POST");
    await say(page, `Question ${moment}`);
    await taken;
    // From before the first word to after the last one.
    await page.waitForTimeout((moment % 10) * 130);
    await page.reload();
    await page.getByText(`Question ${moment}`).waitFor();
    await page
      .locator("section")
      .nth(count + 1)
      .getByText("takes a moment to arrive.")
      .waitFor();
    await untilReady(page);
    const shown = await shownOn(page);
    expect(shown).toHaveLength(count + 2);
    expect(answered(shown)).toBe(true);
    await page.reload();
    await page
      .locator("section")
      .nth(count + 1)
      .waitFor();
    expect(await shownOn(page)).toEqual(shown);
  }
});

test("a server that is killed at any moment of an answer, and started again, gives the same page", async () => {
  const address = `sqlite:${temporaryFolder().file("chat.db")}`;
  let server = await startExample(address);
  // A test that fails leaves no server.
  onTestFinished(() => server.kill());
  const page = await openPage();
  await page.goto(server.url);
  for (let moment = 0; moment < cases(4, 20); moment += 1) {
    const count = (await shownOn(page)).length;
    // From when the server has taken the message, which it answers once that is durable.
    const taken = page.waitForResponse((response) => response.request().method() === "POST");
    await say(page, moment % 2 === 0 ? `Question ${moment}` : `The weather, ${moment}?`);
    await taken;
    await page.waitForTimeout((moment % 10) * 170);
    await server.kill();
    server = await startExample(address, server.port);
    // The page goes on by itself, too.
    if (moment % 2 === 0) await page.reload();
    await page
      .locator("section")
      .nth(count + 1)
      .getByText(moment % 2 === 0 ? "takes a moment to arrive." : "That is all I know.")
      .waitFor();
    await untilReady(page);
    const shown = await shownOn(page);
    expect(shown).toHaveLength(count + 2);
    await page.reload();
    await page
      .locator("section")
      .nth(count + 1)
      .waitFor();
    expect(await shownOn(page)).toEqual(shown);
  }
});
