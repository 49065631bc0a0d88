import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import type { Outcome } from "../support/outcome.ts";
import { compileProject } from "../support/package/compile.ts";
import { installTarball, manifestSchema, root, writeJson } from "../support/package/consumer.ts";
import { findOldNode } from "../support/package/old-node.ts";
import { programOf, publicTypes } from "../support/package/public-types.ts";
import { signatureTypes } from "../support/package/signature-types.ts";
import { outcomeOf, outputOf } from "../support/process.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-consumer-"));
  await installTarball(folder);
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const oldNode = await findOldNode();

test("the tarball holds what was built, the licence, the README and the documents, and nothing else", async () => {
  const files = await packedFiles();
  expect(files.filter((file) => !/^(dist|docs)\//.test(file)).toSorted()).toEqual([
    "LICENSE",
    "README.md",
    "package.json",
  ]);
  const page = ["LICENSES.txt", "codecs.json", "icon.svg", "index.html", "page.css"].map(
    (file) => `dist/studio/${file}`,
  );
  expect(files.filter((file) => file.startsWith("dist/") && !/\.(m?js|d\.ts)$/.test(file)).toSorted()).toEqual([
    ...["dist/LICENSES.txt", ...page],
  ]);
  expect(files).toContain("dist/studio/page.js");
  expect(files.filter((file) => /\b(test|bench|examples|scratch)\b/.test(file))).toEqual([]);
  expect(files.filter((file) => file.startsWith("docs/") && !file.endsWith(".md"))).toEqual([]);
  expect(files).toContain("dist/apps/cli/main.js");
});

test("no packed file tells where it was built, and no code imports a source", async () => {
  const telling: string[] = [];
  for (const file of await packedFiles()) {
    const text = await readFile(join(folder, "node_modules/turnlog", file), "utf8");
    if (text.includes(`${root}/`) || text.includes("sourceMappingURL")) telling.push(file);
    if (/\.m?js$/.test(file) && /(from|import) ?\(?"[^"]*\.ts"/.test(text)) telling.push(file);
  }
  expect(telling).toEqual([]);
});

test("every type that an entry's declarations show can be imported from an entry, or is named here with a reason", async () => {
  const installed = join(folder, "node_modules/turnlog");
  const entries = await declarationsOf(installed);
  const { exported, unnamed } = publicTypes(entries, installed);
  expect(exported).toBeGreaterThan(100);
  expect(unnamed).toEqual(unnamedOnPurpose);
  const [entry = ""] = entries;
  const planted = `${await readFile(entry, "utf8")}\ntype Hidden = 1;\nexport declare const shown: () => readonly Hidden[];`;
  // Another entry's types are not looked for again.
  expect(publicTypes([entry], installed, new Map([[entry, planted]])).unnamed).toContain("Hidden of shown");
});

test("the root has few values, no provider among them, and only types that their signatures name", async () => {
  const installed = join(folder, "node_modules/turnlog");
  const module = join(installed, "dist/index.d.ts");
  const entries = await declarationsOf(installed);
  const { values, types, named } = signatureTypes(programOf(entries), { module, folder: installed });
  expect(values.length).toBeGreaterThan(20);
  expect(values.length).toBeLessThanOrEqual(40);
  expect(types.length).toBeGreaterThan(50);
  expect(types.filter((type) => !named.has(type))).toEqual([]);
  const makers = (await Promise.all(providerEntries.map(exportsOf))).flat().map(([name]) => name);
  expect(makers).toEqual(expect.arrayContaining(["openaiResponses", "azureResponses", "anthropic", "ollama"]));
  expect(values.filter((name) => makers.includes(name))).toEqual([]);
  // A type that only a result holds is reported, and one that a caller gives is not.
  const planted = `${await readFile(module, "utf8")}
type Inner = 1; type Given = 2;
declare function shown(given: { readonly given: Given }): { readonly inner: Inner };
export { shown, type Inner, type Given };`;
  const found = signatureTypes(programOf([module], new Map([[module, planted]])), { module, folder: installed });
  expect(found.types.filter((type) => !found.named.has(type))).toEqual(["Inner"]);
});

test("every exported codec is called after its wire, with Codec at the end", async () => {
  for (const name of providerEntries) {
    const exported = (await exportsOf(name)).filter(([, value]) => isCodec(value) || isTable(value));
    expect(exported.length, name).toBeGreaterThan(0);
    for (const [called] of exported) expect(called).toMatch(/^[a-z]\w*Codecs?$/);
  }
});

/** One for each provider. */
const providerEntries = ["responses", "chat", "anthropic", "google", "ollama", "ai-sdk", "claude-cli"];

/** The names and values that an entry exports. */
async function exportsOf(entry: string): Promise<readonly (readonly [string, unknown])[]> {
  const module: unknown = await import(join(folder, `node_modules/turnlog/dist/entries/${entry}.js`));
  return Object.entries(module ?? {});
}

const isCodec = (value: unknown): boolean => typeof value === "object" && value !== null && "encodeRequest" in value;
/** Codecs by dialect. */
const isTable = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.values(value).some(isCodec);

const made = "a store or a block is what makes it, and no caller calls its constructor";
const listed = "lists what the settings take, and callers write down the settings";
const inside = "a member that only the package itself reads, marked @internal";
const shaped = "the shape of what OpenTelemetry's API gives, and callers pass that API";
/** Types that declarations show and nobody outside has to write down, and why. */
const notForUsers: ReadonlyMap<string, string> = new Map([
  ["BlockFields of Block", made],
  ["ConversationWriter of Conversation", made],
  ["Conversations of Conversation", made],
  ["FoldedTo of PastConversation", made],
  ["ChatMembers of ChatSettings", listed],
  ["MessagesMembers of MessagesSettings", listed],
  ["ResponsesMembers of RequestSettings", listed],
  ["ReadingTools of ReadableConversation", made],
  ["ReadingTools of RunnableConversation", made],
  ["StoredBlocks of Turn", inside],
  ["Thrower of RunFailedError", "the engine throws it"],
  ["ConversationView of LoadedPast", inside],
  ["EngineOptions of Engine", inside],
  ["FileKind of SqliteOpenOptions", inside],
  ["OtelContext of OpenTelemetryApi", shaped],
  ["OtelMeter of OpenTelemetryApi", shaped],
  ["OtelSpan of OpenTelemetryApi", shaped],
  ["OtelTracer of OpenTelemetryApi", shaped],
  ["OtelContext of OpenTelemetryLogs", shaped],
  ["RowProjector of Projector", "the part of it that loads no rxjs, whose methods are its own"],
  ["RowProjector of ReadModel", "three methods of a projector, which callers do not write"],
]);
/** Types that declarations show and no entry exports, because they are reached through the results that hold them; compiled below. */
const reached: ReadonlyMap<string, string> = new Map([
  ["FailedProvider of RouteQuestion", 'RouteQuestion["failed"][number]'],
  ["Loss of RunResult", 'RunResult["losses"][number]'],
  ["LostPart of ImportedConversation", 'ImportedConversation["lost"][number]'],
  ["Repaired of RunResult", 'RunResult["restated"][number]'],
  ["RunStep of RunResult", 'RunResult["steps"][number]'],
  ["SearchHit of SearchResult", 'SearchResult["hits"][number]'],
]);
const unnamedOnPurpose = [...notForUsers.keys(), ...reached.keys()].toSorted();

/** The declarations of all entries, by the manifest that was packed. */
async function declarationsOf(installed: string): Promise<readonly string[]> {
  const { exports } = exportsSchema.parse(JSON.parse(await readFile(join(installed, "package.json"), "utf8")));
  return Object.values(exports).flatMap((entry) => (typeof entry === "string" ? [] : [join(installed, entry.types)]));
}

const exportsSchema = z.looseObject({
  exports: z.record(z.string(), z.union([z.string(), z.looseObject({ types: z.string() })])),
});

test("the installed command says its version", async () => {
  const { version } = manifestSchema.parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
  expect(await turnlog("--version")).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

test("the installed demo runs without a key, and leaves a conversation to look at", async () => {
  const demo = await turnlog("demo");
  expect(demo).toMatchObject({ code: 0, stderr: "" });
  expect(demo.stdout).toMatch(/chained/);
  const list = await turnlog("ls");
  expect(list).toMatchObject({ code: 0, stderr: "" });
  expect(list.stdout).toMatch(/cnv_\w+/);
});

test("a store whose client is not installed says what to install, and ends with 6", async () => {
  const outcome = await turnlog("ls", "--store", "esdb://127.0.0.1:2113?tls=false");
  expect(outcome).toMatchObject({ code: 6, stdout: "" });
  expect(outcome.stderr).toMatch(/^turnlog: .*npm install @eventstore\/db-client@\S+\n$/);
});

test("it brings no client of a provider: a handful of packages, none of them large", async () => {
  const { packages } = lockSchema.parse(JSON.parse(await readFile(join(folder, "package-lock.json"), "utf8")));
  const own = ["", "node_modules/turnlog", "node_modules/zod", "node_modules/@types/node", "node_modules/undici-types"];
  const names = Object.keys(packages).filter((path) => !own.includes(path));
  expect(names.map((path) => path.replace("node_modules/", "")).toSorted()).toEqual(["rxjs", "tslib", "ws"]);
});

const lockSchema = z.looseObject({ packages: z.record(z.string(), z.unknown()) });

test.each([
  // The declarations are checked once, and nothing in them needs the types of a browser.
  ["nodenext", { module: "nodenext", moduleResolution: "nodenext", lib: ["es2024"], skipLibCheck: false }],
  ["bundler", { module: "esnext", moduleResolution: "bundler", skipLibCheck: true }],
])("a typed import of every entry compiles under %s, and runs", async (name, options) => {
  const project = join(folder, name);
  await mkdir(project);
  await writeFile(join(project, "use.ts"), strangersCode);
  const compilerOptions = { ...options, target: "es2024", strict: true, types: ["node"] };
  await writeJson(join(project, "tsconfig.json"), { compilerOptions });
  expect(compileProject(project)).toBe("");
  expect(await outputOf([join(project, "use.js")], { cwd: project })).toBe(
    [
      ...[
        "rxjs: ConversationStarted ConversationStarted",
        "scripted: chained",
        "openai: Hello.",
        "chat: Hello.",
        "anthropic: Hello.",
        "ollama: Hello.",
        "google: Hello.",
        "claude-cli: Hello.",
      ],
      ...["ai-sdk: Hello.", ""],
    ].join("\n"),
  );
});

test("a provider whose client is not installed says what to install, when it is first asked", async () => {
  await writeFile(join(folder, "vertex.js"), vertexCode);
  expect(await outputOf([join(folder, "vertex.js")], { cwd: folder })).toMatch(/npm install google-auth-library/);
});

test("a provider needs no other package than turnlog, but for models on Vertex AI", async () => {
  await writeFile(join(folder, "anthropic.js"), anthropicCode);
  expect(await outputOf([join(folder, "anthropic.js")], { cwd: folder })).toMatch(/cannot reach the provider/);
});

test("a CommonJS project requires the package as it is", async () => {
  await writeFile(join(folder, "use.cjs"), commonJsCode);
  expect(await outputOf([join(folder, "use.cjs")], { cwd: folder })).toBe("Hello.\n");
});

test.runIf(oldNode !== null)(
  "under a too old Node the installed command says what to do, and ends with 6",
  async () => {
    const outcome = await outcomeOf(oldNode ?? "", [command(), "--version"], { cwd: folder });
    expect(outcome).toMatchObject({ code: 6, stdout: "" });
    expect(outcome.stderr).toMatch(
      /^turnlog: needs Node 22\.13 or newer, but this is [\d.]+: install .*nodejs\.org\n$/,
    );
  },
);
if (oldNode === null) test.skip("a too old Node: there is none on PATH, so its refusal is not tried", () => undefined);

const command = (): string => join(folder, "node_modules/.bin/turnlog");

const turnlog = (...words: readonly string[]): Promise<Outcome> =>
  outcomeOf(process.execPath, [command(), ...words], {
    cwd: folder,
    env: { ...process.env, TURNLOG_STORE: undefined, NO_COLOR: "1" },
  });

async function packedFiles(): Promise<readonly string[]> {
  const installed = join(folder, "node_modules/turnlog");
  const entries = await readdir(installed, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(installed.length + 1)
        .replaceAll("\\", "/"),
    );
}

const commonJsCode = `
const { createEngine, openStore } = require("turnlog");
const { scripted } = require("turnlog/testing");
async function main() {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("Hello?");
  console.log((await conversation.run(createEngine({ provider: scripted(["Hello."]) }))).text);
}
main();
`;

const anthropicCode = `
import { createEngine, openStore } from "turnlog";
import { anthropic } from "turnlog/anthropic";
await using store = await openStore("memory:");
const conversation = store.conversation();
await conversation.append("Hello?");
const provider = anthropic({ model: "claude-sonnet-5", apiKey: "none", baseURL: "http://127.0.0.1:1" });
await conversation.run(createEngine({ provider })).catch((error) => console.log(error.message));
`;

const vertexCode = anthropicCode
  .replace('anthropic } from "turnlog/anthropic"', 'googleVertex } from "turnlog/google"')
  .replace(/anthropic\(\{.*\}\)/, 'googleVertex({ model: "gemini-3-pro", project: "p", location: "global" })');

/** What somebody might write on the first day, with a value and a type of every entry. */
const strangersCode = `
import { type Conversation, createEngine, openStore, type RunResult, secret, tool, TurnlogError } from "turnlog";
import type { ImportedConversation, RouteQuestion, SearchResult } from "turnlog";
export type Reached = readonly [${[...reached.values()].join(", ")}];
import { scripted } from "turnlog/testing";
import { type EventStoreDbStore, openEventStoreDb } from "turnlog/eventstoredb";
import { aiSdk, type AiSdkOptions } from "turnlog/ai-sdk";
import { anthropic, type AnthropicOptions } from "turnlog/anthropic";
import { chatCompletions, type ChatCompletionsOptions } from "turnlog/chat";
import { claudeCli, type ClaudeCliOptions } from "turnlog/claude-cli";
import { googleGemini, type GoogleGeminiOptions } from "turnlog/google";
import { ollama, type OllamaOptions } from "turnlog/ollama";
import { changes$ } from "turnlog/projections";
import { azureResponses, openaiResponses, type OpenaiResponses } from "turnlog/responses";
import { claudeCliStandIn, message, type ReferenceServer, startReferenceServer } from "turnlog/testing";
import { openSqliteStore, type SqliteStore } from "turnlog/sqlite";
import { firstValueFrom, from, map } from "rxjs";
import { z } from "zod";

const weather = tool({
  name: "weather",
  description: "Today's weather",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => "sunny in " + city.toUpperCase(),
});
const provider = scripted([{ calls: [{ name: "weather", arguments: { city: "Paris" } }] }, "It is sunny."]);
await using store = await openStore("sqlite:./typed.db");
const conversation: Conversation = store.conversation();
// The operators are of the stranger's own rxjs.
const begun = firstValueFrom(from(changes$(conversation)).pipe(map(({ event }) => event.type)));
const changed = firstValueFrom(changes$(conversation).pipe(map(({ event }) => event.type)));
await conversation.append("What is the weather in Paris?");
const result: RunResult = await conversation.run(createEngine({ provider, tools: [weather] }));
console.log("rxjs:", await begun, await changed);
console.log("scripted:", result.steps.at(-1)?.decision.strategy);

await using server: ReferenceServer = await startReferenceServer({ answer: () => ({ output: [message("Hello.")] }) });
const model: OpenaiResponses = openaiResponses({ model: "any", apiKey: "none", baseURL: server.baseUrl });
const other = store.conversation();
await other.append("Hello?");
console.log("openai:", (await other.run(createEngine({ provider: model }))).text);
const asked: ChatCompletionsOptions = { model: "any", apiKey: "none", baseURL: server.baseUrl };
const third = store.conversation();
await third.append("Hi.");
console.log("chat:", (await third.run(createEngine({ provider: chatCompletions(asked) }))).text);

const thinking: AnthropicOptions = {
  ...{ model: "any", apiKey: "none", baseURL: server.url },
  thinking: { type: "enabled", budget_tokens: 2_000 },
  mcp_servers: [{ type: "url", name: "crm", url: "https://crm.example", authorization_token: secret("CRM") }],
  secrets: { CRM: "sesame-open" },
};
const fourth = store.conversation();
await fourth.append("Hi.");
console.log("anthropic:", (await fourth.run(createEngine({ provider: anthropic(thinking) }))).text);
azureResponses({ model: "m", endpoint: "https://r.example", apiKey: "k", instructions: [{ type: "message" }] });
// @ts-expect-error: no number.
openaiResponses({ model: "any", apiKey: "none", temperature: "1" });

const options: { ollama: OllamaOptions; google: GoogleGeminiOptions; cli: ClaudeCliOptions } = {
  ollama: { model: "any", baseURL: server.url },
  google: { model: "gemini-3", apiKey: "none", baseURL: server.baseUrl },
  cli: { model: "opus", ...claudeCliStandIn(server.url) },
};
const textModel: AiSdkOptions["model"] = {
  ...{ specificationVersion: "v4", provider: "none", modelId: "any", supportedUrls: {} },
  doGenerate: async () => ({ content: [{ type: "text", text: "Hello." }], finishReason: { unified: "stop" }, usage: {}, warnings: [] }),
  doStream: async () => { throw new Error("it was not asked to stream"); },
};
for (const [name, provider] of Object.entries({
  ollama: ollama(options.ollama),
  google: googleGemini(options.google),
  "claude-cli": claudeCli(options.cli),
  "ai-sdk": aiSdk({ model: textModel, transport: "json" }),
})) {
  const next = store.conversation();
  await next.append("Hi.");
  console.log(name + ":", (await next.run(createEngine({ provider }))).text);
}

await using events: SqliteStore = await openSqliteStore("./typed.db", { mustExist: true });
const missing: unknown = await openSqliteStore("./nowhere.db", { mustExist: true }).catch((error: unknown) => error);
if (!(missing instanceof TurnlogError)) throw new Error("an entry has a class of errors of its own");
events satisfies AsyncDisposable;
openEventStoreDb satisfies (url: string) => Promise<EventStoreDbStore>;
`;
