import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { isJsonObject, type JsonObject, parseJson } from "../../../src/base/json.ts";
import { codecChecks } from "../../../src/entries/testing.ts";
import { createEngine, defineMiddleware, openStore, RunFailedError, tool } from "../../../src/index.ts";
import { type ClaudeCliOptions, claudeCli } from "../../../src/providers/claude-cli/claude-cli.ts";
import { claudeCliCodec } from "../../../src/providers/claude-cli/claude-cli-codec.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { ask, failureOf, textOf } from "../../support/providers/inferences.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

const standIn = resolve(import.meta.dirname, "../../support/claude-cli/stand-in-process.ts");
let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "turnlog-cli-"));
});
afterEach(() => {
  // Sessions are named by the process that began them.
  for (const file of readdirSync(home)) expect(() => process.kill(Number(file.split("-")[1]), 0)).toThrow("ESRCH");
  rmSync(home, { recursive: true });
});

const cliIn = (mode: string, options: ClaudeCliOptions = {}) =>
  claudeCli({ command: [process.execPath, standIn], env: { STAND_IN_HOME: home, STAND_IN_MODE: mode }, ...options });

/** What each session was given, text by text. */
function sessions(): readonly (readonly string[])[] {
  return readdirSync(home).map((file) => {
    const session = parseJson(readFileSync(join(home, file), "utf8"));
    const given = isJsonObject(session) ? session["given"] : [];
    return Array.isArray(given) ? given.map(String) : [];
  });
}

const opened = () => openStore("memory:", { codecs: [claudeCliCodec] });

describe("a conversation with the Claude CLI", () => {
  test("goes on in one session, which is given nothing but what the user says; its calls arrive closed", async () => {
    await using store = await opened();
    const conversation = store.conversation();
    const engine = createEngine({ provider: cliIn("well", { model: "opus", instructions: "Be brief." }) });
    for (const question of ["One?", "Two?", "Three?"]) {
      await conversation.append(question);
      await conversation.run(engine);
    }
    expect(sessions()).toEqual([["One?", "Two?", "Three?"]]);
    const result = await conversation.append("Four?").then(() => conversation.run(engine));
    expect(result.text).toBe("Answer 3.");
    expect(result.usage).toMatchObject({ inputTokens: 35, cachedInputTokens: 30, outputTokens: 4 });
    expect((await result.turn()).blocks.slice(-5).map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      ...["user Four?", "reasoning Hm.", 'tool_call {"path":"file 3"}', "tool_result content 3", "assistant Answer 3."],
    ]);
    expect(await conversation.verify()).toMatchObject({ isSound: true, requests: 4 });
  });

  test("begins a new session with all of a Turn that was edited, or that another provider answered, as one block", async () => {
    await using store = await opened();
    const conversation = store.conversation();
    const engine = createEngine({ provider: cliIn("well") });
    await conversation.append("One?");
    await conversation.run(engine);
    await conversation.append("Two?");
    await conversation.run(createEngine({ provider: scripted(["From elsewhere."]) }));
    await conversation.append("Three?");
    const shorten = defineMiddleware(
      { name: "shorten", version: "1" },
      (next) => (turn) =>
        next(
          turn.replaceEach(
            turn.blocks.filter(({ text }) => text === "One?"),
            (block) => block.withText("1?"),
          ),
        ),
    );
    await conversation.run(createEngine({ provider: cliIn("well"), middleware: [shorten] }));
    const [transcript] = sessions().find(([first]) => first !== "One?") ?? [];
    expect(
      transcript
        ?.split("\n")
        .slice(1)
        .map((line) => parseJson(line)),
    ).toEqual([
      { role: "user", text: "1?" },
      { call: "toolu_0", tool: "Read", arguments: '{"path":"file 0"}' },
      { result: "toolu_0", output: [{ type: "text", text: "content 0" }] },
      { role: "assistant", text: "Answer 0." },
      { role: "user", text: "Two?" },
      { role: "assistant", text: "From elsewhere." },
      { role: "user", text: "Three?" },
    ]);
    const told = async () => dataOf(await eventsOf(conversation), "InferenceRequested").at(-1)?.decision.repairs;
    // What others than the user said is told as text, which is on record.
    const transcribed = [2, 3, 4, 6].map((index) => ({ rule: "restate", index, detail: { reason: "transcript" } }));
    expect(await told()).toMatchObject([{ rule: "omit", index: 1 }, ...transcribed]);
    await conversation.append("Four?");
    await conversation.run(engine);
    expect(await told()).toEqual([]);
    expect(
      sessions()
        .map(({ length }) => length)
        .toSorted((left, right) => left - right),
    ).toEqual([1, 2]);
    expect((await conversation.verify()).isSound).toBe(true);
  });

  test("begins a new session where the CLI does not know the old one any more", async () => {
    await using store = await opened();
    const conversation = store.conversation();
    const engine = createEngine({ provider: cliIn("well") });
    await conversation.append("One?");
    await conversation.run(engine);
    for (const file of readdirSync(home)) rmSync(join(home, file));
    await conversation.append("Two?");
    expect((await conversation.run(engine)).text).toBe("Answer 0.");
    expect(sessions()).toHaveLength(1);
    expect(sessions()[0]?.[0]).toMatch(/^This is the conversation so far.*"text":"One\?".*"text":"Two\?"\}$/s);
    expect((await conversation.verify()).isSound).toBe(true);
  });

  test("keeps the history as it was where it fails, with what arrived on record", async () => {
    await using store = await opened();
    const conversation = store.conversation();
    await conversation.append("One?");
    const run = conversation.run(createEngine({ provider: cliIn("die"), retry: { maxRetries: 0 } }));
    await expect(run).rejects.toThrow(RunFailedError);
    expect((await conversation.turn()).blocks.map(({ text }) => text)).toEqual(["One?"]);
    expect((await conversation.run(createEngine({ provider: cliIn("well") }), { again: true })).text).toBe("Answer 0.");
  });
});

const body = claudeCliCodec.encodeRequest({ settings: {}, input: [], anchor: null, transport: "stdio" });
const failing = (mode: string, options: ClaudeCliOptions = {}) =>
  failureOf(ask(cliIn(mode, options), { bodyText: body }));

describe("there is one clear error, and no process is left, when the CLI", () => {
  test("is not there", async () => {
    const failure = await failing("well", { command: ["no-such-claude"] });
    expect(failure).toMatchObject({ kind: "invalid-request", outcome: "rejected" });
    expect(failure.message).toMatch(
      /^cannot start the Claude CLI as 'no-such-claude' .*install it with 'npm install -g/,
    );
  });

  test("is to work in a folder that is not there", async () => {
    const failure = await failing("well", { cwd: join(home, "gone") });
    expect(failure.message).toMatch(/: the folder cwd \(\S+gone\) does not exist; create it, or give another$/);
  });

  test("is no program", async () => {
    const failure = await failing("well", { command: [home] });
    expect(failure).toMatchObject({ kind: "invalid-request", outcome: "rejected" });
    expect(failure.message).toMatch(/EACCES\): check that command is a program that this user may execute$/);
  });

  test("dies", async () => {
    const failure = await failing("die");
    expect(failure).toMatchObject({ kind: "stream-cut", outcome: "unknown" });
    expect(failure.message).toBe("the Claude CLI ended with code 137 before it gave a result");
    expect(failure.partial.map(({ type }) => type)).toEqual(["system", "assistant"]);
  });

  test("dies within a line", async () => {
    const failure = await failing("torn");
    expect(failure).toMatchObject({ kind: "stream-cut", outcome: "unknown" });
    expect(failure.message).toBe("the Claude CLI ended with code 137 before it gave a result");
    expect(failure.partial.map(({ type }) => type)).toEqual(["system", "assistant"]);
  });

  test("prints nonsense", async () => {
    const failure = await failing("nonsense");
    expect(failure).toMatchObject({ kind: "server-error", outcome: "unknown" });
    expect(failure.message).toBe("the Claude CLI printed a line that is not a JSON object: Segmentation fault");
    expect(failure.partial).toHaveLength(2);
  });

  test("says that it succeeded with an error", async () => {
    const failure = await failing("refused", {
      env: { STAND_IN_HOME: home, STAND_IN_MODE: "refused", STAND_IN_SECRET: "sesame-open" },
    });
    expect(failure).toMatchObject({ kind: "context-length-exceeded", outcome: "unknown", status: 400 });
    expect(failure.message).toBe("API Error: 400 prompt is too long [secret STAND_IN_SECRET]");
  });

  test("hangs, deaf to being asked to end", async () => {
    const failure = await failing("hang", { limits: { idleMs: 3_000 } });
    expect(failure).toMatchObject({ kind: "answer-stalled", outcome: "unknown" });
  });

  test("leaves a process of its own behind, which holds its pipes", async () => {
    const pipes = (): number => process.getActiveResourcesInfo().filter((name) => name === "PipeWrap").length;
    // Node closes what was destroyed a moment later.
    const settle = async (): Promise<void> => {
      for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    };
    await settle();
    const before = pipes();
    const failure = await failing("well", { command: ["sh", "-c", 'sleep 600 & echo "left $!"'] });
    process.kill(Number(/left (\d+)/.exec(failure.message)?.[1]));
    expect(failure.kind).toBe("server-error");
    await settle();
    expect(pipes()).toBeLessThanOrEqual(before);
  });

  test("dies, and a process that it started holds its pipes", async () => {
    const failure = await failing("well", { command: ["sh", "-c", 'sleep 600 & echo "left $!" >&2; exit 3'] });
    process.kill(Number(/left (\d+)/.exec(failure.message)?.[1]));
    expect(failure).toMatchObject({ kind: "stream-cut", outcome: "unknown" });
    expect(failure.message).toMatch(/^the Claude CLI ended with code 3 before it gave a result: left \d+$/);
  }, 20_000);

  test("closes its output, and stays", async () => {
    const failure = await failing("well", { command: ["sh", "-c", "exec >&- 2>&-; exec sleep 600"] });
    expect(failure).toMatchObject({ kind: "stream-cut", outcome: "unknown" });
    expect(failure.message).toBe("the Claude CLI closed its output before it gave a result");
  }, 20_000);

  test("prints a line without an end, or more than it may", async () => {
    const line = await failing("well", { command: ["sh", "-c", "yes a | tr -d '\\n'"], limits: { bodyBytes: 1e6 } });
    expect(line).toMatchObject({ kind: "body-too-large", outcome: "unknown" });
    const endless = { command: ["sh", "-c", "yes '{}'"], limits: { streamBytes: 1e5 } } as const;
    expect(await failing("well", endless)).toMatchObject({ kind: "stream-too-large", outcome: "unknown" });
  }, 20_000);

  test("is waited for no longer", async () => {
    const controller = new AbortController();
    const onDelta = (): void => controller.abort();
    const asked = ask(cliIn("hang"), { bodyText: body, signal: controller.signal, onDelta });
    const failure = await failureOf(asked);
    expect(failure).toMatchObject({ kind: "aborted", outcome: "unknown" });
    expect(failure.partial.map(({ type }) => type)).toEqual(["system", "assistant"]);
  });
});

test("an answer is reported block by block", async () => {
  const { deltas } = await ask(cliIn("well"), { bodyText: body });
  expect(textOf(deltas, "reasoning-delta")).toBe("Hm.");
  expect(textOf(deltas, "tool-call-delta")).toBe('{"path":"file 0"}');
  expect(textOf(deltas, "text-delta")).toBe("Answer 0.");
});

test("what the CLI has no argument for is refused by name before a run begins", async () => {
  await using store = await opened();
  const conversation = store.conversation();
  await conversation.append("One?");
  const run = conversation.run(createEngine({ provider: cliIn("well") }), { maxOutputTokens: 9 });
  await expect(run).rejects.toThrow("the Claude CLI has no counterpart of maxOutputTokens: leave it out");
});

test("a file is no image: it is left out of its message, and says so where nothing else is to be sent", async () => {
  await using store = await opened();
  const conversation = store.conversation();
  await conversation.append({
    role: "user",
    content: [{ type: "input_file", file_url: "https://example.com/a.pdf" }],
  });
  await expect(conversation.run(createEngine({ provider: cliIn("well") }))).rejects.toThrow(
    'none of the Turn\'s 1 blocks can be sent to this endpoint (of the last one: the Claude CLI takes texts and images, and no part of type "file"); append a message that it accepts',
  );
  await conversation.append({
    role: "user",
    content: [
      { type: "text", text: "Read." },
      { type: "input_file", file_url: "https://example.com/a.pdf" },
    ],
  });
  const { losses } = await conversation.run(createEngine({ provider: cliIn("well") }));
  expect(losses).toMatchObject([
    { repair: { rule: "omit", index: 0 } },
    { repair: { rule: "omit-parts", index: 1, detail: { parts: [1] } } },
  ]);
});

test("tools of the engine are refused by name: it runs its own", () => {
  const own = tool({ name: "look-up", description: "Looks up.", inputSchema: z.object({}), execute: () => "" });
  expect(() => createEngine({ provider: cliIn("well"), tools: [own] })).toThrow(
    /^the Claude CLI runs only its own tools, not 'look-up'/,
  );
});

test("what every request decides is no argument", () => {
  expect(() => claudeCli({ args: "--verbose" as never })).toThrow(/args is a text: give a list of texts/);
  expect(() => claudeCli({ command: "" })).toThrow(/command is empty/);
  expect(claudeCli({ command: "claude" }).scope).toBe(claudeCli().scope);
  expect(() => claudeCli({ args: ["--resume", "x"] })).toThrow(
    /^args has --resume, which turnlog sets for each request/,
  );
});

const line = (type: string, content: readonly JsonObject[]): JsonObject => ({ type, message: { role: type, content } });
const answers: readonly JsonObject[] = [
  {
    lines: [
      line("assistant", [{ type: "tool_use", id: "toolu_1", name: "Read", input: { n: 1 } }]),
      line("assistant", [{ type: "text", text: "So." }]),
      { type: "result", subtype: "success", is_error: false, session_id: "s", usage: { input_tokens: 1 } },
    ],
  },
  { lines: [{ type: "result", subtype: "error_max_turns", is_error: false, session_id: "s" }] },
];

describe("the codec", () => {
  // It offers no tools, and says so: the test above.
  const checks = codecChecks(claudeCliCodec, { answers }).filter(({ name }) => !name.startsWith("offers tools"));
  for (const { name, run } of checks) test(name, run);
});
