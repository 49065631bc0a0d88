import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { whyDocument } from "../../../src/apps/documents/requests.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { engine } from "../../support/cli/toy-stack.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const support = join(import.meta.dirname, "../../support");
const stack = join(support, "cli/toy-stack.ts");

/** A store with a conversation whose requests the toy's codec has encoded. */
async function foreignStore() {
  const { path, file } = temporaryFolder();
  await using store = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
  const conversation = store.conversation("cnv_foreign");
  for (const said of ["Find it.", "And now?"]) {
    await conversation.append(said);
    await conversation.run(engine);
  }
  return { file, run: (typed: string) => turnlogHere(typed.split(" "), { cwd: path }) };
}

const shows: Readonly<Record<string, RegExp>> = {
  verify: /3 requests verified: all sound/,
  "why @last": /full: sent 5 of 5 blocks.*because: the provider does not continue from responses/s,
  "request @last": /"talk":\[\{"who":"user","parts":\[\{"say":"Find it\."\}\]\}/,
  "replay @last": /3 requests replayed; 2 runs and 3 steps executed: no difference/,
};

test.each(Object.entries(shows))(
  "%s reads requests of another provider's codec with --stack",
  async (command, text) => {
    const { run } = await foreignStore();
    const outcome = await run(`${command} --stack ${stack}`);
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    expect(outcome.stdout).toMatch(text);
  },
);

test("why without the codec tells all that the log has, and what it would take for the rest", async () => {
  const { run } = await foreignStore();
  const { code, stdout, stderr } = await run("why @last");
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /full: sent 5 of 5 blocks, \d+ bytes\n.*because: the provider does not continue from responses/s,
  );
  expect(stdout).toContain("Known contexts, newest first\n");
  expect(stderr).toBe(
    "the size of the whole request is unknown: its codec toy/1 is missing (give it with --stack FILE)\n",
  );
  expect(readDocument(whyDocument, await run("why @last --json"))).toMatchObject({ encoder: "toy/1", fullBytes: null });
});

const needing = Object.keys(shows).filter((command) => !command.startsWith("why"));
test.each(needing)("%s names the codec that is missing without it, and what to do", async (command) => {
  const { run } = await foreignStore();
  const { code, stdout, stderr } = await run(command);
  expect(code).not.toBe(0);
  expect(stdout + stderr).toMatch(/'toy\/1' encoded the request, and this turnlog does not have it: .*--stack FILE/);
});

test("verify without the codec checks all but the requests, and says so", async () => {
  const { run, file } = await foreignStore();
  const unchecked = await run("verify");
  expect(unchecked).toMatchObject({ code: 1, stderr: "" });
  expect(unchecked.stdout).toMatch(/^not checked {2}cnv_foreign@\d+ .*: requests of 1 stream not checked\n$/s);
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("UPDATE events SET data = replace(data, 'now', 'then') WHERE data LIKE '%And now?%'");
  database.close();
  const damaged = await run("verify");
  expect(damaged.code).toBe(4);
  expect(damaged.stdout).toMatch(
    /^damaged {2}cnv_foreign@\d+ {2}its data is not what was written\n.*: 1 stream damaged\n$/s,
  );
});

test("verify names every codec that is missing", async () => {
  const { run, file } = await foreignStore();
  {
    await using store = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
    const conversation = store.conversation("cnv_foreign");
    await conversation.append("And by the next version?");
    const { provider } = engine.options;
    await conversation.run(createEngine({ provider: { ...provider, codec: { ...provider.codec, name: "toy/2" } } }));
  }
  expect((await run("verify")).stdout).toMatch(
    /not checked .*the codec 'toy\/1' encoded the request, .*; others were encoded by 'toy\/2'\n/,
  );
  expect((await run(`verify --stack ${stack}`)).stdout).toMatch(/not checked .*the codec 'toy\/2' encoded [^;]*\n/);
});

test("what needs no request reads such a conversation without it", async () => {
  const { run } = await foreignStore();
  for (const command of ["log @last", "show @last", "blame @last", "ls"])
    expect(await run(command)).toMatchObject({ code: 0, stderr: "" });
});

test("a module may export codecs alone: those of older requests, or of a provider that is gone", async () => {
  const { run, file } = await foreignStore();
  const path = file("codecs.ts");
  writeFileSync(
    path,
    `export { toyCodec } from ${JSON.stringify(join(support, "toy/dialect/codec.ts"))};
import { toyCodec } from ${JSON.stringify(join(support, "toy/dialect/codec.ts"))};
export const codecs = [toyCodec];`,
  );
  for (const command of ["verify", "why @last", "request @last", "replay @last"])
    expect(await run(`${command} --stack ${path}`)).toMatchObject({ code: 0, stderr: "" });
  writeFileSync(file("none.ts"), "export const codecs = [1];");
  const refused = await run(`verify --stack ${file("none.ts")}`);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("not a list of codecs");
});

const wired = (name: string): string =>
  `import { ${name} } from ${JSON.stringify(join(support, `toy/dialect/${name === "toy" ? "provider" : "codec"}.ts`))};`;

test("an engine with a router brings the codecs of all its providers", async () => {
  const { run, file } = await foreignStore();
  const path = file("routed.ts");
  writeFileSync(
    path,
    `${wired("toy")}
import { createEngine } from ${JSON.stringify(join(support, "../../src/index.ts"))};
import { scripted } from ${JSON.stringify(join(support, "../../src/entries/testing.ts"))};
export const engine = createEngine({
  provider: scripted([]),
  otherProviders: { toy: toy("http://127.0.0.1:1") },
  route: () => null,
});`,
  );
  expect(await run(`verify --stack ${path}`)).toMatchObject({ code: 0, stderr: "" });
});

test("an error about a module that exports neither codecs nor an engine names both", async () => {
  const { run, file } = await foreignStore();
  writeFileSync(file("codec.ts"), `${wired("toyCodec")} export const codec = toyCodec;`);
  const { code, stderr } = await run(`verify --stack ${file("codec.ts")}`);
  expect(code).toBe(2);
  expect(stderr).toMatch(/exports neither codecs nor an engine: export const codecs = \[codec\], or/);
});
