import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const secret = "sk-must-not-show-4711";

const providers = {
  open: {
    ...{ wire: "chat", model: "m", baseURL: `https://user:${secret}@gateway.example/v1?key=${secret}` },
    apiKey: { env: "OPEN_KEY" },
    secrets: { CRM: { env: "CRM_TOKEN" } },
    headers: { "x-team": "support", "x-api-key": { env: "OPEN_KEY" } },
    queryParams: { "api-version": "preview", tenant: { env: "TENANT" } },
    tools: [{ type: "mcp", authorization: { $secret: "CRM" } }],
  },
};

const variables = { OPEN_KEY: secret, TENANT: secret, CRM_TOKEN: "", TURNLOG_STORE: "" };

/** What `turnlog config` says, as text and as a document. */
async function shown(
  files: Readonly<Record<string, string | object>>,
  words: readonly string[] = [],
  env: Readonly<Record<string, string>> = variables,
) {
  const { path: cwd, file } = temporaryFolder();
  for (const [name, content] of Object.entries(files))
    writeFileSync(file(name), typeof content === "string" ? content : JSON.stringify(content));
  const text = await turnlogHere(["config", ...words], { cwd, env });
  const json = await turnlogHere(["config", "--json", ...words], { cwd, env });
  return { cwd, text, document: documentOf(json), all: JSON.stringify([text, json]) };
}

test("it shows every value with what decided it", async () => {
  const data = { store: "work", stores: { work: "sqlite:w.db" }, providers, prices: "p.json" };
  const { text, document, cwd } = await shown({ "turnlog.config.json": data });
  expect(document).toMatchObject({
    data: {
      files: ["turnlog.config.json"],
      values: expect.arrayContaining([
        { key: "store", value: `sqlite:${cwd}/w.db`, from: "file", name: "turnlog.config.json" },
        { key: "engine", value: "open", from: "default", name: null },
        { key: "prices", value: `${cwd}/p.json`, from: "file", name: "turnlog.config.json" },
        { key: "providers.open.model", value: "m", from: "file", name: "turnlog.config.json" },
        { key: "providers.open.apiKey", value: "the variable OPEN_KEY", from: "file", name: "turnlog.config.json" },
      ]) as unknown,
    },
  });
  expect(text.stdout).toMatch(/^providers\.open\.headers\.x-team {2,}turnlog\.config\.json {2}support$/m);
  expect(text.stdout).toContain("the variable CRM_TOKEN, which is not set");
  expect((await shown({}, ["--store", "memory:"])).document).toMatchObject({
    data: { files: [], values: [{ key: "store", value: "memory:", from: "flag", name: "--store" }, {}, {}] },
  });
  expect((await shown({}, [], { TURNLOG_STORE: "memory:" })).document).toMatchObject({
    data: { values: [{ key: "store", from: "env", name: "TURNLOG_STORE" }, {}, {}] },
  });
});

test("no credential shows, wherever the file has it", async () => {
  const { all, text } = await shown({
    "turnlog.config.json": { providers, stores: { s: `postgres://u:${secret}@h/d` } },
  });
  expect(all).not.toContain(secret);
  expect(text.stdout).toContain("https://gateway.example/v1?…");
  expect(text.stdout).toContain('[{"type":"mcp","authorization":{"$secret":"CRM"}}]');
  const code = `export default { providers: { open: {
    wire: "chat", model: "m", apiKey: "${secret}", headers: { authorization: "${secret}" }, secrets: { CRM: "${secret}-crm" },
    tools: [{ type: "mcp", authorization: "${secret}" }], queryParams: { key: "${secret}" }, baseURL: "http://h" } } };`;
  const inCode = await shown({ "turnlog.config.mjs": code });
  expect(inCode.text.code).toBe(0);
  expect(inCode.all).not.toContain(secret);
});

test("a context is not shown, because it may hold anything", async () => {
  const { document } = await shown({}, ["--config", join(import.meta.dirname, "../../support/cli/asking-stack.ts")]);
  const values = z
    .looseObject({ data: z.looseObject({ values: z.array(z.looseObject({ key: z.string(), value: z.string() })) }) })
    .parse(document).data.values;
  const said = Object.fromEntries(values.map(({ key, value }) => [key, value]));
  expect(said).toMatchObject({
    ...{
      "engines.settings.provider": "made",
      "engines.settings.tools": "refund",
      "engines.settings.middleware": "greet",
    },
    ...{ "engines.settings.context": "(code)", "engines.plain": "(code)", "providers.made": "(code)" },
  });
});

test("tools and layers of an engine are shown by their names", async () => {
  const { document } = await shown({
    "turnlog.config.mjs": `const tool = (name) => ({ name, execute: () => "${secret}", parameters: { type: "object" } });
    export default {
      providers: { open: { wire: "chat", model: "m", baseURL: "http://h" } },
      engines: { support: { provider: "open", tools: [tool("refund"), tool("search")], middleware: [{ name: "shorten" }, () => 0] } } };`,
  });
  expect(document).toMatchObject({
    data: {
      values: expect.arrayContaining([
        expect.objectContaining({ key: "engines.support.tools", value: "refund, search" }),
        expect.objectContaining({ key: "engines.support.middleware", value: "shorten, (code)" }),
      ]) as unknown,
    },
  });
});

test("it lists what is wrong with each entry, and exits 1; it executes no module of an engine", async () => {
  const wrong = {
    providers: {
      open: { wire: "chat", modle: "m", apiKey: { env: "OPEN_KEY" } },
      local: { wire: "ollama", model: "m" },
    },
    engines: { a: "./none.ts", b: "./agent.mjs", c: { provider: "local", maxSteps: 0 }, d: { provider: "open" } },
  };
  const { text } = await shown({ "turnlog.config.json": wrong, "agent.mjs": "throw new Error('executed')" });
  expect(text.code).toBe(1);
  const problems = text.stdout.split("\n").filter((line) => line.startsWith("turnlog.config.json: "));
  expect(problems).toEqual([
    expect.stringContaining("providers.open: chatCompletions has no option 'modle': did you mean 'model'?"),
    "turnlog.config.json: engines.a: there is no file ./none.ts",
    expect.stringContaining("engines.c: maxSteps is 0"),
  ]);
});
