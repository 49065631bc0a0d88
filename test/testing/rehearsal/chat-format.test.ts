import { expect, test } from "vitest";
import { type ChatLine, readChatFile, readChatLines } from "../../../src/testing/rehearsal/chat-format.ts";

const hello = JSON.stringify({ id: "d1", messages: [{ role: "user", content: "hello" }] });

test("tells a malformed line by its number and reads the rest", async () => {
  const lines = await read([`${hello}\n{"id": "d2"\n\n`, `{"id": "d3", "messages": []}\n${hello.replace("d1", "d4")}`]);
  expect(lines.map(({ status, line }) => `${line} ${status}`)).toEqual([
    "1 document",
    "2 malformed",
    "4 malformed",
    "5 document",
  ]);
});

test.each([
  ["no JSON", "{", "this is not JSON"],
  ["no object", "7", "the line"],
  ["no id", '{"messages": [{"role": "user", "content": "x"}]}', "id"],
  ["an unknown role", document({ role: "robot", content: "x" }), "messages[0].role"],
  ["a user without content", document({ role: "user" }), "messages[0].content"],
  ["a call without a name", document(calling({ id: "c", type: "function", function: { arguments: "" } })), "name"],
  [
    "a result of no call",
    document({ role: "tool", tool_call_id: "c", content: "x" }),
    "messages[0]: this tool message",
  ],
  ["a part of an unknown type", document({ role: "user", content: [{ type: "smell" }] }), "messages[0].content"],
  ["a file without content", document({ role: "user", content: [{ type: "file", file: {} }] }), "messages[0].content"],
])("says where a line is wrong that has %s", async (_what, line, says) => {
  const [read1] = await read([line]);
  expect(read1).toMatchObject({ status: "malformed", line: 1 });
  expect(read1).toHaveProperty("message", expect.stringContaining(says));
});

test("ends lines at line feeds only, whatever else a text holds", async () => {
  const text = "one\u2028two\u2029three\u0085four";
  const lines = await read([`\uFEFF${document({ role: "user", content: text })}\r\n${hello}\n`]);
  expect(lines.map(({ status }) => status)).toEqual(["document", "document"]);
  expect(lines[0]).toMatchObject({ document: { messages: [{ content: text }] } });
});

test("reads the same lines whatever pieces the text comes in", async () => {
  const text = `${hello}\nno\n${hello}`;
  const whole = await read([text]);
  for (let length = 1; length < 40; length += 1) {
    const pieces = text.match(new RegExp(`[^]{1,${length}}`, "g")) ?? [];
    expect(await read(pieces)).toEqual(whole);
  }
});

test("says at once that a file is not there", async () => {
  await expect(readChatFile("/nowhere/at/all.jsonl")).rejects.toMatchObject({ code: "ENOENT" });
});

async function read(pieces: readonly string[]): Promise<readonly ChatLine[]> {
  async function* text(): AsyncIterable<string> {
    yield* pieces;
  }
  const lines: ChatLine[] = [];
  for await (const line of readChatLines(text())) lines.push(line);
  return lines;
}

function document(...messages: readonly object[]): string {
  return JSON.stringify({ id: "d", messages });
}

function calling(call: object): object {
  return { role: "assistant", content: null, tool_calls: [call] };
}
