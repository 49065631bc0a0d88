import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const chat = { wire: "chat", model: "m" };

/** What a command says of a configuration that it cannot use. */
async function refusalOf(name: string, text: string, words: readonly string[] = ["ls"]): Promise<string> {
  const { path: cwd, file } = temporaryFolder();
  writeFileSync(file(name), text);
  const { code, stdout, stderr } = await turnlogHere(words, { cwd, env: { TURNLOG_STORE: "" } });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr.startsWith(`turnlog: ${name}`), stderr).toBe(true);
  return stderr.slice("turnlog: ".length + name.length).trim();
}

test.each([
  ["{", " is not JSON: "],
  ["[]", ": the configuration takes an object of options, not a list"],
  [{ provider: {} }, ": the configuration has no option 'provider': did you mean 'providers'?"],
  [{ store: 1 }, ": store is 1: give an address, or a name in stores"],
  [{ store: "wrok", stores: { work: "memory:" } }, ": store is 'wrok', which has no entry: did you mean 'work'?"],
  [{ store: "work" }, ": store is 'work', which has no entry: give an address, as sqlite:./turnlog.db"],
  [{ stores: { work: "work.db" } }, ": stores.work is not the address of a store: give one, as sqlite:./turnlog.db"],
  [{ stores: { "a.b": "memory:" } }, ": stores has the name 'a.b': give letters, digits, - and _, because"],
  [{ providers: [] }, ": providers is a list: give an object of names"],
  [{ providers: { a: "openai" } }, ": providers.a is a text: give { wire, model }"],
  [{ providers: { a: { model: "m" } } }, ": providers.a has no wire: give one of responses, "],
  [{ providers: { a: { wire: "response" } } }, ": providers.a.wire is 'response': did you mean 'responses'?"],
  [
    { providers: { a: { ...chat, apiKey: "sk-1" } } },
    ": providers.a.apiKey is a text, and JSON is no place for a key: name a variable",
  ],
  [{ providers: { a: { ...chat, secrets: { CRM: "x" } } } }, ": providers.a.secrets.CRM is a text, and JSON"],
  [
    { providers: { a: { ...chat, headers: { "x-api-key": "x" } } } },
    ": providers.a.headers.x-api-key is a text, and JSON",
  ],
  [{ providers: { a: { ...chat, queryParams: { key: "x" } } } }, ": providers.a.queryParams.key is a text, and JSON"],
  [
    { providers: { a: { ...chat, fetch: "x" } } },
    ": providers.a.fetch needs code, which JSON does not have: write turnlog.config.ts",
  ],
  [{ engines: { a: 1 } }, ": engines.a is 1: give { provider }, or the path of a module"],
  [{ engines: { a: "agent" } }, ": engines.a is 'agent', which is no path of a module: give one, as ./agent.ts"],
  [{ engines: { a: {} } }, ": engines.a has no provider: give the name of one in providers"],
  [{ engines: { a: { provider: "b" } } }, ": engines.a.provider is 'b', which has no entry: add it to providers"],
  [
    { providers: { open: chat }, engines: { a: { provider: "opne" } } },
    ": engines.a.provider is 'opne', which has no entry: did you mean 'open'?",
  ],
  [{ providers: { a: chat }, engines: { a: "./a.ts" } }, ": a is an engine and a provider: rename one"],
  [
    { providers: { a: chat }, engines: { b: { provider: "a", tools: [] } } },
    ": engines.b.tools needs code, which JSON does not have: write turnlog.config.ts, or name a module that has it",
  ],
  [{ engine: "a" }, ": engine is 'a', which has no entry: add it to engines"],
  [{ prices: {} }, ": prices names no file: give { prices: "],
  [{ prices: { prices: "p", priceAs: { m: 1 } } }, ": prices.priceAs.m is 1: give the name of an entry"],
])("%j is refused with its file, its key and what would do", async (config, message) => {
  const text = typeof config === "string" ? config : JSON.stringify(config);
  expect(await refusalOf("turnlog.config.json", text)).toContain(message.trim());
});

const request = ["resume", "cnv_none", "--stack", "a", "--store", "memory:"];

test.each([
  [{ ...chat, modle: "x" }, ": providers.a: chatCompletions has no option 'modle': did you mean 'model'?"],
  [{ ...chat, apiKey: { env: "NO_SUCH_KEY" } }, ": providers.a.apiKey: the variable NO_SUCH_KEY is not set: set it"],
  [{ ...chat, apiKey: { evn: "X" } }, ": providers.a.apiKey has no option 'evn': did you mean 'env'?"],
  [
    { ...chat, queryParams: { v: "1" } },
    ": providers.a.queryParams is added to the address, which providers.a leaves out: give baseURL too",
  ],
  [{ ...chat, queryParams: { v: 1 }, baseURL: "http://h" }, ": providers.a.queryParams has a value that is not a text"],
  [{ ...chat, apiKey: { $secret: "KEY" } }, ": providers.a: "],
])("a provider of %j is refused when it is asked for, with its key", async (provider, message) => {
  const text = JSON.stringify({ providers: { a: provider } });
  expect(await refusalOf("turnlog.config.json", text, request)).toContain(message.trim());
});

test("an engine whose settings createEngine refuses is refused with its key", async () => {
  const providers = { open: { ...chat, dialect: "ollama" } };
  const refused = (engine: object) =>
    refusalOf(
      "turnlog.config.json",
      JSON.stringify({ providers, engines: { a: { provider: "open", ...engine } } }),
      request,
    );
  expect(await refused({ maxSteps: 0 })).toContain(": engines.a: maxSteps is 0: give a whole number");
  expect(await refused({ maxStep: 1 })).toContain("did you mean 'maxSteps'?");
  expect(await refused({ mode: "chained" })).toContain(": engines.a: ");
});

test.each([
  ["export const engine = 1;", " exports no configuration as its default: write export default defineConfig({ … })"],
  ["export default () => ({});", " exports a function: write export default defineConfig({ … })"],
  ["export default { provider: 1 };", ": the configuration has no option 'provider': did you mean 'providers'?"],
  ["throw new Error('no network');", " cannot be loaded: no network"],
])("a module of %j is refused", async (text, message) => {
  const { path: cwd, file } = temporaryFolder();
  writeFileSync(file("turnlog.config.mjs"), text);
  const outcome = await turnlogHere(["append", "@new", "hi"], { cwd, env: { TURNLOG_STORE: "" } });
  expect(outcome).toMatchObject({ code: 2, stdout: "" });
  expect(outcome.stderr).toContain(`turnlog: turnlog.config.mjs${message}`);
});

test("two modules in one folder are refused, because one of them would be ignored", async () => {
  const { path: cwd, file } = temporaryFolder();
  for (const name of ["turnlog.config.ts", "turnlog.config.mjs"]) writeFileSync(file(name), "export default {};");
  const { code, stderr } = await turnlogHere(["append", "@new", "hi"], { cwd, env: { TURNLOG_STORE: "" } });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `turnlog: ${cwd} has turnlog.config.ts and turnlog.config.mjs: keep one of them, or name one with --config\n`,
  });
});

test("a name of no engine is refused with the nearest, and without a configuration with what to write", async () => {
  const { path: cwd, file } = temporaryFolder();
  const ask = (name: string) => turnlogHere(["resume", "x", "--stack", name, "--store", "memory:"], { cwd });
  expect(await ask("agent")).toMatchObject({
    code: 2,
    stderr:
      "turnlog: there is no configuration that has the engine 'agent': write turnlog.config.json, or name a file, as ./agent.ts\n",
  });
  writeFileSync(file("turnlog.config.json"), JSON.stringify({ providers: { support: chat } }));
  expect((await ask("suport")).stderr).toContain("the name of the engine is 'suport': did you mean 'support'?");
});
