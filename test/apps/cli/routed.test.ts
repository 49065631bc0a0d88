import { expect, test } from "vitest";
import { whyDocument } from "../../../src/apps/documents/requests.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** A store in which one provider answered, and another took over from it when it failed. */
async function storeWithFailover(): Promise<string> {
  const { path, file } = temporaryFolder();
  await using store = await openStore(`sqlite:${file("turnlog.db")}`);
  const conversation = store.conversation("cnv_routed");
  const refused = { error: { status: 400, message: "not today" } };
  const provider = {
    ...scripted([{ reasoning: "Hm.", text: "first" }, refused], { prefix: "a", settings: { model: "small" } }),
    name: "acme",
  };
  const other = { ...scripted(["second"], { prefix: "b", settings: { model: "large" } }), name: "bolt" };
  const engine = createEngine({
    provider,
    otherProviders: { spare: other },
    route: ({ failed }) => (failed.length === 0 ? provider : other),
  });
  for (const text of ["one", "two"]) {
    await conversation.append(text);
    await conversation.run(engine);
  }
  return path;
}

test("log and blame say by its name who was asked, who failed and who answered", async () => {
  const cwd = await storeWithFailover();
  const { stdout } = await turnlogHere(["log", "cnv_routed"], { cwd });
  expect(stdout).toMatch(/ acme +answered reasoning, assistant “first”/);
  expect(stdout).toMatch(
    / acme +refused \(400\), spare is asked next: not today\n.*\n.* asked spare \(attempt 2\) full, .*\n.* bolt +answered/,
  );
  expect((await turnlogHere(["blame", "cnv_routed"], { cwd })).stdout).toMatch(/4 +assistant +bolt @\d+ +second\n/);
});

test("why says who was asked, by which model, and who had failed before", async () => {
  const cwd = await storeWithFailover();
  expect((await turnlogHere(["why", "cnv_routed@4"], { cwd })).stdout).toContain("\nasked scripted, small\n");
  const { stdout } = await turnlogHere(["why", "cnv_routed"], { cwd });
  expect(stdout).toContain("\nasked spare, scripted, large, after scripted had failed\n");
  expect(stdout).toMatch(/ 1 +reasoning \(left out\) +acme @\d+ +Hm\.\n +2 +assistant +acme/);
  const document = readDocument(whyDocument, await turnlogHere(["why", "cnv_routed", "--json"], { cwd }));
  expect(document).toMatchObject({ route: "spare", model: "large", attempt: 1 });
  expect(document.scope).toMatch(/^scripted prefix=b /);
  expect(document.failedBefore).toHaveLength(1);
  expect(document.failedBefore[0]).toMatch(/^scripted prefix=a /);
});

test("show names the server of each context where there are several", async () => {
  const cwd = await storeWithFailover();
  const { stdout } = await turnlogHere(["show", "cnv_routed"], { cwd });
  expect(stdout).toMatch(/Servers hold\n( .* a prefix of the Turn +scripted\n){2}/);
});
