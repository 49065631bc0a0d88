import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { exitCodeOf } from "../../../src/apps/cli/commands/rehearse.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { blockFromJson } from "../../../src/domain/block-json.ts";
import { rehearsalProviders } from "../../../src/testing/rehearsal/ports.ts";
import { handedBetween } from "../../../src/testing/rehearsal/rehearsed-providers.ts";
import { isLong } from "../../support/cases.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import type { Outcome } from "../../support/outcome.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const asked = { role: "user", content: "Which orders are late?" };
const looked = {
  role: "assistant",
  content: "Let me look.",
  tool_calls: [{ id: "c1", type: "function", function: { name: "late", arguments: '{ "days": 3 }' } }],
};
const found = { role: "tool", tool_call_id: "c1", content: "4711" };
const answered = { role: "assistant", content: "Order 4711 is." };
const whole = [{ role: "system", content: "Be brief." }, asked, looked, found, answered];

test("imports what a file says, with who did it, and nothing more the second time", async () => {
  const { file, store } = place({ id: "d1", messages: whole });
  const first = await turnlog("import", file, "--store", store, "--json");
  const [conversation] = importOf(first).conversations;
  expect(first).toMatchObject({ code: 0, stderr: `a new store was made: ${store}\n` });
  expect(conversation).toMatchObject({ document: "d1", blocks: 6 });
  expect(await told(store, conversation?.id)).toEqual([
    "ConversationStarted by import d1 from talks.jsonl",
    "system by import: Be brief.",
    "user by import: Which orders are late?",
    "assistant by import: Let me look.",
    'tool_call by import: { "days": 3 }',
    "tool_result by import: 4711",
    "assistant by import: Order 4711 is.",
  ]);
  const again = await turnlog("import", file, "--store", store);
  expect(again).toMatchObject({ code: 0, stdout: "0 conversations imported, 0 blocks; 1 already there\n" });
  expect(await told(store, conversation?.id)).toHaveLength(7);
});

test("adds what a conversation has grown by, and leaves one alone that says something else now", async () => {
  const { file, store, write } = place({ id: "d1", messages: whole.slice(0, 2) });
  await turnlog("import", file, "--store", store);
  write({ id: "d1", messages: whole });
  const grown = await turnlog("import", file, "--store", store, "--json");
  const [conversation] = importOf(grown).conversations;
  expect(conversation?.blocks).toBe(4);
  write({ id: "d1", messages: [{ role: "system", content: "Be rude." }, ...whole.slice(1)] });
  const changed = await turnlog("import", file, "--store", store);
  expect(changed.code).toBe(1);
  expect(changed.stderr).toContain("line 1: d1 was already imported");
  expect(await told(store, conversation?.id)).toHaveLength(7);
});

test("names malformed lines by number, and imports or rehearses the rest", async () => {
  const { file, store } = place({ id: "d1", messages: whole }, "{ no", { id: "d3" }, { id: "d4", messages: whole });
  const imported = await turnlog("import", file, "--store", store, "--json");
  expect(imported.code).toBe(1);
  expect(importOf(imported).conversations.map(({ document, blocks }) => [document, blocks])).toEqual([
    ["d1", 6],
    ["d4", 6],
  ]);
  expect(importOf(imported).malformed.map(({ line }) => line)).toEqual([2, 3]);
  expect(imported.stderr).toMatch(/line 2: this is not JSON.*\n.*line 3: messages/);
  const rehearsed = await turnlog("rehearse", file, "--json");
  expect(rehearsed.code).toBe(1);
  expect(rehearsed.stderr).toMatch(/line 2: .*\n.*line 3: /);
  expect(figuresOf(rehearsed)).toMatchObject({ conversations: 2, requests: 4, coherent: 4 });
});

test("a file that is no conversation is told in one sentence, with what it is, and makes no store", async () => {
  const { folder, store } = place();
  const file = join(folder, "other.json");
  const json = JSON.stringify({ title: "notes", pages: [1, 2] }, null, 2);
  const neither =
    "is neither a bundle nor a file of conversations, which has one JSON document {id, messages} per line";
  for (const [text, said] of [
    ['{ "finished": true,\n  "format": "turnlog-erasure-receipt"\n}\n', "is the receipt of an erasure"],
    [json, `${neither} (line 1: this is not JSON`],
    ['{"id":"d1"}\n', `${neither} (line 1: messages`],
  ] as const) {
    writeFileSync(file, text);
    const { code, stdout, stderr } = await turnlog("import", file, "--store", store);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(/^turnlog: [^\n]+\n$/)]);
    expect(stderr).toContain(`${file} ${said}`);
    expect(existsSync(join(folder, "store.db"))).toBe(false);
  }
});

test("takes no more conversations than it may", async () => {
  const { file, store } = place(
    { id: "d1", messages: whole },
    { id: "d2", messages: whole },
    { id: "d3", messages: whole },
  );
  const rehearsed = await turnlog("rehearse", file, "--limit", "2", "--json");
  expect(figuresOf(rehearsed)["conversations"]).toBe(2);
  const imported = await turnlog("import", file, "--limit", "2", "--store", store, "--json");
  expect(importOf(imported).conversations.map(({ document }) => document)).toEqual(["d1", "d2"]);
});

test("imports the one conversation of a file under a chosen id, and refuses one for several conversations", async () => {
  const { file, store } = place({ id: "d1", messages: whole });
  const named = ["--id", "cnv_mine", "--store", store];
  const imported = await turnlog("import", file, ...named, "--json");
  expect(importOf(imported).conversations).toMatchObject([{ id: "cnv_mine", document: "d1", blocks: 6 }]);
  expect((await turnlog("import", file, ...named)).stdout).toBe(
    "0 conversations imported, 0 blocks; 1 already there\n",
  );
  const two = place({ id: "d1", messages: whole }, { id: "d2", messages: whole });
  const refused = await turnlog("import", two.file, "--id", "cnv_mine", "--store", two.store);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toMatch(/^turnlog: .* holds several conversations, but --id names one: leave out --id\n$/);
  expect(existsSync(join(two.folder, "store.db"))).toBe(false);
  const bundle = join(two.folder, "bundle.jsonl");
  expect((await turnlog("export", "cnv_mine", "-o", bundle, "--store", store)).code).toBe(0);
  const kept = await turnlog("import", bundle, "--id", "cnv_other", "--store", two.store);
  expect(kept).toMatchObject({
    code: 2,
    stderr: "turnlog: conversations in a bundle keep their ids: leave out --id\n",
  });
});

test("says that a file is not there, and makes no store for it", async () => {
  const { folder, store } = place();
  for (const [command, ...options] of [["import"], ["rehearse", "--keep"]] as const) {
    const refused = await turnlog(command, join(folder, "nothing.jsonl"), "--store", store, ...options);
    expect(refused).toMatchObject({ code: 3, stdout: "" });
    expect(refused.stderr.trim().split("\n")).toHaveLength(1);
  }
  expect(existsSync(join(folder, "store.db"))).toBe(false);
});

test("prints a rehearsal as one stable document", async () => {
  const ended = await turnlog("rehearse", "--generate", "a", "--limit", "2", "--edit-rate", "0.4", "--json");
  const figures = figuresOf(ended);
  expect(ended.code).toBe(0);
  expect(Object.keys(figures)).toEqual([
    "providers",
    "mode",
    "transport",
    "conversations",
    "switches",
    "handoffs",
    "requests",
    "chained",
    "rebased",
    "full",
    "warmUps",
    "objectCalls",
    "coherent",
    "incoherent",
    "events",
    "bytesSent",
    "bytesFull",
    "bytesLastOnly",
    "seconds",
  ]);
  const { chained = 0, rebased = 0, full = 0, requests } = figures;
  expect(Number(chained) + Number(rebased) + Number(full)).toBe(requests);
  expect(figures["conversations"]).toBe(2);
});

test.each(["json", "sse", "websocket"])("sends its requests as the options say: %s", async (transport) => {
  const options = ["--limit", "2", "--edit-rate", "0.4", "--switch-modes", "--transport", transport, "--json"];
  const ended = await turnlog("rehearse", "--generate", "a", ...options);
  expect(ended.code).toBe(0);
  const figures = figuresOf(ended);
  expect(figures).toMatchObject({ transport, incoherent: 0, coherent: figures["requests"] });
  expect(Number(figures["chained"])).toBeGreaterThan(0);
});

test("warms up connections with --warm-up, and counts what that sent", async () => {
  const options = ["--limit", "1", "--transport", "websocket", "--warm-up", "1"];
  const ended = await turnlog("rehearse", "--generate", "a", ...options, "--json");
  expect(ended.code).toBe(0);
  const { warmUps, ...figures } = figuresOf(ended);
  expect(figures).toMatchObject({ incoherent: 0, coherent: figures["requests"] });
  expect(Number(warmUps)).toBeGreaterThan(0);
  const shown = await turnlog("rehearse", "--generate", "a", ...options);
  expect(shown.stdout).toMatch(new RegExp(`^warm-ups +${String(warmUps)}$`, "m"));
});

test("asks in another dialect, in the mode that its provider can do", async () => {
  const ended = await turnlog("rehearse", "--generate", "a", "--limit", "1", "--provider", "chat", "--json");
  expect(ended.code).toBe(0);
  const figures = figuresOf(ended);
  expect(figures).toMatchObject({
    providers: ["chat"],
    mode: "stateless",
    handoffs: 0,
    full: figures["requests"],
    incoherent: 0,
  });
});

test.each(["sse", "json"])(
  "hands conversations over between all providers, every request judged: %s",
  async (transport) => {
    const options = [
      "--handoff",
      "--transport",
      transport,
      "--reasoning",
      "--parallel",
      "--edit-rate",
      "0.2",
      "--limit",
      isLong ? "100" : "4",
    ];
    const ended = await turnlog("rehearse", "--generate", "a", ...options, "--json");
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const figures = figuresOf(ended);
    expect(figures).toMatchObject({ incoherent: 0, coherent: figures["requests"], providers: handedBetween });
    const { handoffs, chained, requests } = figures;
    expect(Number(handoffs)).toBeGreaterThan(Number(requests) / 3);
    expect(Number(chained)).toBeGreaterThan(0);
    const shown = await turnlog("rehearse", "--generate", "a", "--handoff", "--limit", "2");
    expect(shown.stdout).toMatch(/^providers +\d+, another one before \d+ requests$/m);
  },
);

test.each([
  [["--handoff", "--provider", "chat"], /--handoff cannot go with --provider: /],
  [
    ["--handoff", "--transport", "websocket"],
    /--handoff cannot go with --transport websocket: .*give --transport sse or json$/,
  ],
  [
    ["--provider", "chat-openai", "--reasoning"],
    /--provider chat-openai cannot go with --reasoning: .*give --provider chat$/,
  ],
  [
    ["--provider", "anthropic", "--mode", "chained", "--reasoning"],
    /--provider anthropic --mode chained cannot go with --reasoning: message threads refuse thinking; .*--mode stateless$/,
  ],
  [["--provider", "anthropic-threads", "--reasoning"], /--provider anthropic-threads cannot go .* refuse thinking/],
  [["--provider", "chat", "--transport", "websocket"], /--transport websocket: give --transport sse or json$/],
  [["--warm-up", "0.5"], /--warm-up cannot go with --transport sse: .*give --transport websocket$/],
  [["--provider", "chat", "--mode", "chained"], /cannot go with --mode chained: .*give --mode stateless or auto$/],
])("refuses what a provider cannot do by name: %j", async (options, expected) => {
  const refused = await turnlog("rehearse", "--generate", "a", ...options);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr.trim()).toMatch(expected);
});

test("plays the Messages API with threads in mode chained", async () => {
  const told = ["--provider", "anthropic", "--mode", "chained", "--edit-rate", "0", "--limit", "2"];
  const {
    requests = 0,
    chained,
    ...figures
  } = figuresOf(await turnlog("rehearse", "--generate", "a", ...told, "--json"));
  expect(figures).toMatchObject({ providers: ["anthropic-threads"], conversations: 2, incoherent: 0 });
  expect(Number(chained)).toBeGreaterThan(0);
  expect(chained).toBe(Number(requests) - 2);
});

test("refuses conversation objects over WebSocket by name", async () => {
  const options = ["--generate", "a", "--mode", "conversation", "--transport", "websocket"];
  const refused = await turnlog("rehearse", ...options);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toMatch(
    /^turnlog: --mode conversation cannot go with --transport websocket: .*--transport sse/,
  );
});

test("--keep leaves a rehearsal in the store, where every check of it passes, and nothing else does", async () => {
  const { store } = place();
  const options = ["--limit", "2", "--edit-rate", "0.5", "--reasoning", "--parallel", "--json"];
  const refused = await turnlog("rehearse", "--generate", "a", ...options, "--store", store);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toMatch(/^turnlog: --store names where a rehearsal leaves its conversations: add --keep/);
  expect((await turnlog("ls", "--store", store)).code).toBe(3);
  const ended = await turnlog("rehearse", "--generate", "a", ...options, "--store", store, "--keep");
  expect(ended.stderr).toMatch(/^its conversations are in sqlite:.*\n$/);
  const verified = await turnlog("verify", "--store", store);
  expect(verified.code).toBe(0);
  await using opened = await openStore(store, { mustExist: true });
  let events = 0;
  for await (const id of opened.conversations()) events += (await opened.conversation(id).at(-1)).revision + 1;
  expect(events).toBe(figuresOf(ended)["events"]);
});

test.each([
  [{ incoherent: 1, conversations: 9 }, 1, 5],
  [{ incoherent: 0, conversations: 9 }, 1, 1],
  [{ incoherent: 0, conversations: 0 }, 0, 1],
  [{ incoherent: 0, conversations: 9 }, 0, 0],
])("ends %o with %i malformed lines with exit code %i", (figures, malformed, code) => {
  expect(exitCodeOf(figures, malformed)).toBe(code);
});

test.each([
  ["rehearse"],
  ["rehearse file --generate 1"],
  ["rehearse file --edit-rate 2"],
  ["rehearse file --edits some"],
  ["rehearse file --chain require"],
  ["import file --format xml"],
])("refuses what cannot be meant: %s", async (typed) => {
  const outcome = await turnlogHere(typed.split(" "), { cwd: temporaryFolder().path });
  expect(outcome).toMatchObject({ code: 2, stdout: "" });
  expect(outcome.stderr).toMatch(/^turnlog: [^\n]+\n$/);
});

function place(...lines: readonly (object | string)[]) {
  const { path: folder, file: pathOf } = temporaryFolder();
  const file = pathOf("talks.jsonl");
  const write = (...documents: readonly (object | string)[]): void => {
    const texts = documents.map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
    writeFileSync(file, texts.join("\n"));
  };
  write(...lines);
  return { folder, file, write, store: `sqlite:${pathOf("store.db")}` };
}

const importDocument = z.strictObject({
  version: z.literal(1),
  data: z.strictObject({
    conversations: z.array(z.strictObject({ id: z.string(), document: z.string(), blocks: z.number() })),
    malformed: z.array(z.strictObject({ line: z.number(), message: z.string() })),
  }),
});
const figure = z.union([
  z.number(),
  z.enum(["chained", "stateless", "json", "sse", "websocket"]),
  z.array(z.enum(rehearsalProviders)),
]);
const rehearsalDocument = z.strictObject({ version: z.literal(1), data: z.record(z.string(), figure) });

const importOf = ({ stdout }: Outcome) => importDocument.parse(JSON.parse(stdout)).data;
const figuresOf = ({ stdout }: Outcome) => rehearsalDocument.parse(JSON.parse(stdout)).data;

async function told(url: string, id: string | undefined): Promise<readonly string[]> {
  await using store = await openStore(url, { mustExist: true });
  const lines: string[] = [];
  for await (const { event, actor } of store.conversation(id).history()) {
    if (event.type === "ConversationStarted" && event.data.origin.type === "import")
      lines.push(`${event.type} by ${actor.kind} ${event.data.title ?? ""} from ${event.data.origin.source}`);
    if (event.type === "BlockAppended") {
      const { text, kind } = blockFromJson(event.data.block);
      lines.push(`${kind} by ${actor.kind}: ${text}`);
    }
  }
  return lines;
}

const turnlog = (...line: readonly string[]): Promise<Outcome> => turnlogHere(line, { cwd: temporaryFolder().path });
