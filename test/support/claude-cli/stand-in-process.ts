/**
 * Stands in for the Claude CLI: takes what that takes, keeps sessions in files of `STAND_IN_HOME`, has a tool of its own, and fails as
 * `STAND_IN_MODE` says. It shares no code with the provider.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";

type Session = { readonly given: readonly string[] };

const words = process.argv.slice(2);
const wordAfter = (name: string): string | undefined =>
  words.includes(name) ? words[words.indexOf(name) + 1] : undefined;
const { STAND_IN_HOME: home = ".", STAND_IN_MODE: mode = "well", STAND_IN_SECRET: secret = "" } = process.env;

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const print = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

if (!words.includes("-p") || !words.includes("--verbose"))
  fail("Error: When using --print, --output-format=stream-json requires --verbose");
if ([wordAfter("--output-format"), wordAfter("--input-format")].some((format) => format !== "stream-json"))
  fail("Error: wrong format");
const resumed = wordAfter("--resume");
const id = resumed ?? `session-${process.pid}-${Date.now()}`;
const file = join(home, `${id}.json`);
const base = { session_id: id, uuid: "u" };
if (resumed !== undefined && !existsSync(file)) {
  print({
    type: "result",
    subtype: "error_during_execution",
    is_error: true,
    ...base,
    errors: [`No conversation found with session ID: ${id}`],
  });
  fail(`No conversation found with session ID: ${id}`);
}
const session = (resumed === undefined ? { given: [] } : JSON.parse(readFileSync(file, "utf8"))) as Session;
const input = JSON.parse(await text(process.stdin)) as {
  readonly message: { readonly content: readonly { readonly type: string; readonly text?: string }[] };
};
const given = input.message.content.map((part) => part.text ?? part.type).join(" + ");
writeFileSync(file, JSON.stringify({ given: [...session.given, given] }));

const said = (block: object): void => {
  const message = { id: "msg_1", type: "message", role: "assistant", content: [block], stop_reason: null };
  print({ type: "assistant", message, parent_tool_use_id: null, ...base });
};
const turn = session.given.length;
print({ type: "system", subtype: "init", model: wordAfter("--model") ?? "m", ...base });
if (mode === "nonsense") print({ type: "system", subtype: "status", ...base });
if (mode === "nonsense") process.stdout.write("Segmentation fault\n");
said({ type: "thinking", thinking: "Hm.", signature: "sealed" });
if (mode === "torn") process.stdout.write('{"type":"assistant","mess');
if (mode === "die" || mode === "torn") process.exit(137);
if (mode === "hang") {
  // Deaf to being asked to end, as a process is that hangs.
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1_000);
  await new Promise(() => undefined);
}
if (mode === "refused") {
  const error = `API Error: 400 prompt is too long ${secret}`;
  said({ type: "text", text: error });
  print({ type: "result", subtype: "success", is_error: true, api_error_status: 400, result: error, ...base });
  process.exit(1);
}
const call = `toolu_${turn}`;
said({ type: "tool_use", id: call, name: "Read", input: { path: `file ${turn}` } });
const result = { type: "tool_result", tool_use_id: call, content: [{ type: "text", text: `content ${turn}` }] };
print({
  type: "user",
  message: { role: "user", content: [result] },
  parent_tool_use_id: null,
  tool_use_result: { lines: 1 },
  ...base,
});
print({
  ...{ type: "assistant", parent_tool_use_id: call, ...base },
  message: { role: "assistant", content: [{ type: "text", text: "said by an agent of its own" }] },
});
said({ type: "text", text: `Answer ${turn}.` });
const usage = { input_tokens: 3, cache_creation_input_tokens: 2, cache_read_input_tokens: 10 * turn, output_tokens: 4 };
print({ type: "result", subtype: "success", is_error: false, result: `Answer ${turn}.`, num_turns: 2, usage, ...base });
