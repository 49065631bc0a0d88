import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { importedStored } from "../../../src/apps/documents/stores.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { accepted, idOf, send } from "../../support/reference-server/wire-client.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const stack = join(import.meta.dirname, "../../support/cli/server-stack.ts");

async function opened() {
  const server = await startReferenceServer();
  vi.stubEnv("OPENAI_BASE_URL", server.baseUrl);
  onTestFinished(() => void vi.unstubAllEnvs());
  const folder = temporaryFolder();
  const run = (...args: readonly string[]) => turnlogHere(args, { cwd: folder.path });
  const first = idOf(await accepted(server, { input: "one" }));
  const last = idOf(await accepted(server, { input: "two", previous_response_id: first }));
  return { server, run, first, last, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test("what a server stores is imported by the id of a response, and said what could not be had back", async () => {
  await using world = await opened();
  const outcome = await world.run("import", "--response", world.last, "--stack", stack);
  expect(outcome.code).toBe(0);
  expect(outcome.stderr).toMatch(/^a new store was made: [^\n]+\n$/);
  const [made, next, ...lost] = outcome.stdout.trimEnd().split("\n");
  expect(made).toMatch(/^cnv_\w{21} {2}imported, 4 blocks of 2 responses$/);
  expect(next).toBe(`the next request continues from ${world.last}`);
  expect(lost.slice(0, 2)).toEqual(["could not be recovered:", "  who wrote what: every block is by import"]);
  const again = readDocument(
    importedStored,
    await world.run("import", "--response", world.last, "--stack", stack, "--json"),
  );
  expect(again).toMatchObject({ responses: [world.first, world.last], blocks: 4, isWhole: true, isNew: false });
  const shown = await world.run("show", again.id);
  expect(shown.stdout).toMatch(/one[\s\S]*two/);
});

test("what a conversation object holds is imported by its id, and the object is left alone", async () => {
  await using world = await opened();
  const made = await send(world.server, "/conversations", { method: "POST", body: "{}" });
  const object = idOf(made.body);
  await accepted(world.server, { input: "three", conversation: object });
  const outcome = await world.run("import", "--conversation", object, "--stack", stack);
  expect(outcome.code).toBe(0);
  expect(outcome.stderr).toMatch(/^a new store was made: [^\n]+\n$/);
  const [said, next, ...lost] = outcome.stdout.trimEnd().split("\n");
  expect(said).toMatch(new RegExp(`^cnv_\\w{21} {2}imported, 2 blocks of ${object}$`));
  expect(next).toBe(`the next request sends everything, because it cannot continue from ${object}`);
  expect(lost[1]).toContain(`${object} itself`);
  const again = readDocument(
    importedStored,
    await world.run("import", "--conversation", object, "--stack", stack, "--json"),
  );
  expect(again).toMatchObject({ source: object, responses: [], blocks: 2, isWhole: false, isNew: false });
});

test.each([
  [
    "a response that is not there",
    ["import", "--response", "resp_none", "--stack", stack],
    3,
    /has no response resp_none/,
  ],
  [
    "an object that is not there",
    ["import", "--conversation", "conv_none", "--stack", stack],
    3,
    /has no conversation object conv_none/,
  ],
  [
    "a response and an object",
    ["import", "--response", "resp_1", "--conversation", "conv_1", "--stack", stack],
    2,
    /'--conversation <id>' cannot be used with option '--response <id>'/,
  ],
  ["no server", ["import", "--response", "resp_1"], 2, /--stack FILE/],
  ["a file besides", ["import", "a.jsonl", "--response", "resp_1", "--stack", stack], 2, /no file to import/],
  ["nothing to import", ["import"], 2, /name a file to import, or a response/],
])("refuses %s, and makes no store", async (_, args, code, reason) => {
  await using world = await opened();
  const outcome = await world.run(...args);
  expect(outcome).toMatchObject({ code, stdout: "" });
  expect(outcome.stderr).toMatch(reason);
});
