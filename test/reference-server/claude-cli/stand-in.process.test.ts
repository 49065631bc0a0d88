import { expect, test } from "vitest";
import * as z from "zod";
import {
  claudeCliStandIn,
  functionCall,
  hosted,
  message,
  readItems,
  reasoning,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { outcomeOf } from "../../support/process.ts";

const words = ["-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose"];

/** Runs the stand-in as one that knows nothing of the provider would. */
async function runCli(url: string, args: readonly string[], input: string) {
  const { command, env } = claudeCliStandIn(url);
  const [program, file] = command;
  const { stdout, ...outcome } = await outcomeOf(program, [file, ...args], { env: { ...process.env, ...env }, input });
  return { ...outcome, stdout, lines: () => linesIn(stdout) };
}

const linesIn = (stdout: string): readonly Line[] =>
  stdout.split("\n").flatMap((line) => (line === "" ? [] : lineSchema.parse(JSON.parse(line))));
const lineSchema = z.looseObject({ type: z.string(), subtype: z.string().default(""), session_id: z.string() });
type Line = z.infer<typeof lineSchema>;

const said = (content: string): string =>
  `${JSON.stringify({ type: "user", message: { role: "user", content: [{ type: "text", text: content }] } })}\n`;

const output = [
  reasoning({ summary: "Hm." }),
  functionCall("Read", '{"path": "a"}', { callId: "toolu_1" }),
  hosted({ type: "function_call_output", call_id: "toolu_1", output: "content" }),
  message("So."),
];

test("the stand-in for the CLI prints an answer block by block, and continues a given session", async () => {
  await using server = await startReferenceServer({ answer: () => ({ output }) });
  const first = await runCli(server.url, [...words, "--model", "opus"], said("One?"));
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.lines().map(({ type, subtype }) => `${type} ${subtype}`.trim())).toEqual([
    ...["system init", "assistant", "assistant", "user", "assistant", "result success"],
  ]);
  const [session = "", ...others] = new Set(first.lines().map((line) => line.session_id));
  expect(others).toEqual([]);
  const second = await runCli(
    server.url,
    [...words, "--resume", session, "--append-system-prompt", "Be brief."],
    said("Two?"),
  );
  expect(second.lines().at(-1)).toMatchObject({ session_id: session, result: "So." });
  const { items = [], ...rest } = server.reading(1) ?? {};
  expect(items.map((item) => [item["type"], item["role"]])).toEqual([
    ["message", "system"],
    ["message", "user"],
    ["reasoning", undefined],
    ["function_call", undefined],
    ["function_call_output", undefined],
    ["message", "assistant"],
    ["message", "user"],
  ]);
  expect(readItems(items, rest)).toHaveLength(7);
});

test("the transcript of an earlier conversation is read as that conversation", async () => {
  await using server = await startReferenceServer();
  const lines = [
    { role: "user", text: "One?" },
    { call: "c", tool: "Read", arguments: '{ "path": "a" }' },
    { result: "c", output: "content" },
    { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
  ];
  const head = "This is the conversation so far, one JSON object a line. Go on.";
  await runCli(server.url, words, said([head, ...lines.map((line) => JSON.stringify(line))].join("\n")));
  expect(server.reading(0)?.items).toEqual([
    { type: "message", role: "user", content: [{ type: "text", text: "One?" }] },
    { type: "function_call", call_id: "c", name: "Read", arguments: '{"path":"a"}' },
    { type: "function_call_output", call_id: "c", output: "content" },
    { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
  ]);
});

test.each([
  [
    "a session that it does not know",
    [...words, "--resume", "gone"],
    said("One?"),
    1,
    /^No conversation found with session ID: gone\n$/,
  ],
  ["stream-json without --verbose", words.slice(0, -1), said("One?"), 0, /requires --verbose\n$/],
  ["input that is no line of JSON", words, "One?\n", 0, /^Error parsing streaming input line\n$/],
])("the stand-in ends with code 1 for %s", async (_, args, stdin, lines, stderr) => {
  await using server = await startReferenceServer();
  const run = await runCli(server.url, args, stdin);
  expect(run).toMatchObject({ code: 1, stderr: expect.stringMatching(stderr) as string });
  expect(run.lines()).toHaveLength(lines);
});

test("the stand-in says success of an answer that was refused, and ends with code 1", async () => {
  await using server = await startReferenceServer();
  const body = { type: "error", error: { type: "invalid_request_error", message: "prompt is too long" } };
  server.inject({ kind: "answer", status: 400, body });
  const { code, lines } = await runCli(server.url, words, said("One?"));
  expect(code).toBe(1);
  expect(lines().at(-1)).toMatchObject({
    ...{ subtype: "success", is_error: true, api_error_status: 400 },
    result: "API Error: 400 prompt is too long",
  });
});

test("the stand-in tells in an answer what its API refuses: an unknown model, and a prompt that is too long", async () => {
  await using server = await startReferenceServer({ models: ["opus"], maxContextTokens: 100 });
  for (const [model, input, status, text] of [
    ["opsu", "One?", 404, "API Error: 404 model: opsu"],
    ["opus", "word ".repeat(500), 400, /^API Error: 400 prompt is too long: \d+ tokens > 100 maximum$/],
  ] as const) {
    const { code, lines } = await runCli(server.url, [...words, "--model", model], said(input));
    expect(code).toBe(1);
    expect(lines().at(-1)).toMatchObject({
      ...{ subtype: "success", is_error: true, api_error_status: status },
      result: typeof text === "string" ? text : (expect.stringMatching(text) as string),
    });
  }
  expect((await runCli(server.url, [...words, "--model", "opus"], said("One?"))).code).toBe(0);
});

test("the stand-in dies where its server breaks off, with what had come", async () => {
  await using server = await startReferenceServer();
  server.inject({ kind: "cut", afterBytes: 100 });
  const { code, stdout } = await runCli(server.url, words, said("One?"));
  // Null: it was ended by a signal.
  expect({ code, bytes: stdout.length }).toEqual({ code: null, bytes: 100 });
});
