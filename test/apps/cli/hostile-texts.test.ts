import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod";
import { inOneLine, printable, printableJson } from "../../../src/base/printable.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { Block, user } from "../../../src/index.ts";
import { logging } from "../../../src/middleware/logging.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** Colours, a window title, a cleared screen, an overwritten line, letters turned round or hidden, a line of its own. */
const hostile =
  "\u001b[31mRED\u001b[0m\u001b]0;owned\u0007\u009b2J\rover\u202ednuor\u2066x\u2069\u061c\u200b\u200e\u2060\ufeff\u00ad\u3164\u2028\u{e0041}\u007f\nFORGED";

/** What may never be seen; what our own tables break lines with is no part of it. */
const forbidden = /(?!\n)(?!\ufe0f)[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u;

// biome-ignore lint/suspicious/noControlCharactersInRegex: They are what is looked for.
const ownColours = /\u001b\[(?:[012]|3[123])m/g;

async function createHostileStore(path: string): Promise<string> {
  await using store = new TurnlogStore(await openSqliteStore(path));
  const conversation = store.conversation("cnv_hostile");
  await conversation.relabel({ title: hostile, labels: { [hostile]: hostile } });
  const call = { name: hostile, arguments: hostile, callId: hostile };
  const odd = { type: hostile, id: hostile, status: hostile, text: hostile };
  const provider = scripted(
    [
      { reasoning: hostile, text: hostile, calls: [{ name: "look", arguments: "{}" }], items: [odd] },
      { calls: [call] },
      hostile,
      { error: { status: 500, code: hostile, message: hostile, param: hostile } },
      hostile,
      hostile,
    ],
    { settings: { model: hostile, [hostile]: hostile } },
  );
  const failing = defineMiddleware({ name: `layer ${hostile}`, version: "1.0.0" }, (next) => async (turn, ctx) => {
    await ctx.effect(hostile, () => hostile);
    const result = await next(turn.append(user(hostile)));
    if (turn.length > 14) throw new Error(hostile);
    return result;
  });
  const look = tool({ name: "look", description: hostile, inputSchema: z.object({}), execute: () => hostile });
  const engine = createEngine({ provider, tools: [look], middleware: [failing] });
  for (let turns = 0; turns < 4; turns += 1) {
    await conversation.append(user(hostile), { actor: { kind: "user", name: hostile } });
    await conversation.append(
      new Block({ id: null, kind: "other", payload: { type: hostile, x: hostile }, wire: null }),
    );
    const { signal } = turns === 3 ? { signal: AbortSignal.abort(new Error(hostile)) } : {};
    await conversation.run(engine, signal === undefined ? {} : { signal }).catch(() => undefined);
  }
  const fork = await conversation.fork(-1, {});
  await fork.append(hostile);
  return fork.id;
}

const commands = [
  ...[
    "ls",
    "log cnv_hostile",
    "log cnv_hostile -p",
    "log cnv_hostile --grep RED",
    "show cnv_hostile",
    "show cnv_hostile@6",
    "show cnv_hostile@9",
    "show cnv_hostile@12",
  ],
  ...[
    "why cnv_hostile",
    "blame cnv_hostile",
    "diff cnv_hostile@1..-1",
    "request cnv_hostile --pretty",
    "replay cnv_hostile",
    "verify",
    "projections",
  ],
  ...[
    "projections quarantine",
    "resume cnv_hostile",
    "search RED",
    "fork cnv_hostile@8",
    "skip cnv_hostile@2 --reason x",
    "show cnv_hostile@99",
  ],
];

test.each([
  ["a pipe", undefined],
  ["a terminal", { columns: 500 }],
])("nothing that comes from others commands %s", async (_, terminal) => {
  const { path: cwd, file } = temporaryFolder();
  const fork = await createHostileStore(file("turnlog.db"));
  writeFileSync(
    file("odd\u202e.jsonl"),
    `{"id":"\u009b2J","messages":[{"role":${JSON.stringify(hostile)}}]}\nnot\u001b[2Jjson\n`,
  );
  const typed = [
    ...commands.map((words) => words.split(" ")),
    ["compare", "cnv_hostile", fork],
    ...(terminal === undefined ? [] : [["export", "cnv_hostile"]]),
    ["import", file("odd\u202e.jsonl")],
    ["show", `cnv_${hostile}`],
    [hostile],
    ["ls", `--${hostile}`],
    ["ls", "--store", `x${hostile}://`, "--debug"],
  ];
  let named = 0;
  for (const words of typed) {
    const { stdout, stderr } = await turnlogHere(words, terminal === undefined ? { cwd } : { cwd, terminal });
    const text = stdout + stderr;
    expect(text, words.join(" ")).not.toContain("\u001b[31mRED");
    expect(
      forbidden.exec(terminal === undefined ? text : text.replace(ownColours, ""))?.[0],
      `${words.join(" ")}\n${JSON.stringify(text)}`,
    ).toBeUndefined();
    if (text.includes("[31mRED [0m")) named += 1;
  }
  // They show it, without what makes it a command.
  expect(named).toBeGreaterThan(10);
});

test("a body is shown with escapes at a terminal, and goes into a pipe as it was sent", async () => {
  const { path: cwd, file } = temporaryFolder();
  await createHostileStore(file("turnlog.db"));
  const words = ["request", "cnv_hostile@-1"];
  const found = await turnlogHere(["log", "cnv_hostile", "--json"], { cwd });
  const { data } = z
    .object({ data: z.object({ events: z.array(z.object({ type: z.string(), revision: z.number() })) }) })
    .parse(JSON.parse(found.stdout));
  const revision = data.events.findLast(({ type }) => type === "InferenceRequested")?.revision ?? 0;
  words[1] = `cnv_hostile@${revision}`;
  const piped = (await turnlogHere(words, { cwd })).stdout;
  const seen = (await turnlogHere(words, { cwd, terminal: { columns: 100 } })).stdout;
  expect(piped).toContain("\u202e");
  expect(seen).toContain("\\u202e");
  expect(JSON.parse(seen)).toEqual(JSON.parse(piped));
});

test("an engine's log says an error's name without them", async () => {
  const lines: string[] = [];
  const written = process.stderr.write.bind(process.stderr);
  process.stderr.write = (text: string | Uint8Array) => lines.push(String(text)) > 0;
  try {
    const { path } = temporaryFolder();
    await using store = new TurnlogStore(await openSqliteStore(`${path}/turnlog.db`));
    const conversation = store.conversation();
    await conversation.append("hi");
    const failing = defineMiddleware({ name: "failing", version: "1.0.0" }, () => () => {
      throw Object.assign(new Error("x"), { code: hostile });
    });
    const engine = createEngine({ provider: scripted([]), middleware: [logging(), failing] });
    await conversation.run(engine).catch(() => undefined);
  } finally {
    process.stderr.write = written;
  }
  expect(lines.join("")).toContain("RED");
  for (const line of lines) expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
});

test("what is written in letters of all kinds stays", () => {
  const texts = ["naïve café", "日本語 葛", "שלום עולם", "مرحبا ٣", "🏳️‍🌈 👩🏽‍🚀 ❤️ 1️⃣", "a\tb\nc", "𝒳"];
  for (const text of texts) expect(printable(text)).toBe(text);
  expect(inOneLine("a\tb\nc")).toBe("a b c");
  expect(printable("a\u200db \ufe0f\ufe0f\ufe01x \u{e0061}")).toBe("a b \ufe0f  x  ");
  expect(JSON.parse(printableJson(JSON.stringify({ hostile })))).toEqual({ hostile });
});
