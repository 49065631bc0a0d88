import { expect, test } from "vitest";
import {
  expectedReading,
  type JsonObject,
  judge,
  lineOf,
  readItems,
} from "../../packages/reference-server/src/server.ts";

const call = (id: string, name: string) => ({ type: "function_call", call_id: id, name, arguments: `{"${name}":1}` });
const output = (id: string, text: string) => ({ type: "function_call_output", call_id: id, output: text });

test("equal readings are coherent, the first difference is named", () => {
  expect(judge(["a", "b"], ["a", "b"])).toEqual({ coherent: true });
  expect(judge(["a", "b"], ["a", "c"])).toMatchObject({ coherent: false, index: 1, expected: "b", actual: "c" });
  expect(judge(["a", "b"], ["a"])).toMatchObject({ coherent: false, index: 1, expected: "b", actual: undefined });
  expect(judge(["a"], ["a", "b"])).toMatchObject({ coherent: false, index: 1, expected: undefined, actual: "b" });
});

const [r1 = "", r2 = ""] = expectedReading([
  { kind: "reasoning", text: "1" },
  { kind: "reasoning", text: "2" },
]);

test.each<readonly [string, readonly string[], boolean, boolean, boolean]>([
  ["all of it", [r1, "x", r2, "y"], true, true, true],
  ["one left out", ["x", r2, "y"], false, true, true],
  ["the last left out", [r1, "x", "y"], false, true, true],
  ["all left out", ["x", "y"], false, true, true],
  ["moved", ["x", r1, r2, "y"], false, false, true],
  ["swapped", [r2, "x", r1, "y"], false, false, true],
  ["made up", [r1, "x", r2, r2, "y"], false, false, true],
  ["at the end", [r1, "x", r2, "y", r1], false, false, true],
  ["other things lost", [r1, r2, "y"], false, false, false],
])("reasoning: %s", (_what, actual, exact, subset, ignore) => {
  const expected = [r1, "x", r2, "y"];
  const verdicts = (["exact", "subset", "ignore"] as const).map(
    (reasoning) => judge(expected, actual, { reasoning }).coherent,
  );
  expect(verdicts).toEqual([exact, subset, ignore]);
});

test("one line for each thing that a model reads, the same from the wire and from a source document", () => {
  const tool = { type: "function", name: "f", parameters: { type: "object", properties: {} } };
  const audio = { data: "d", format: "wav" };
  const items: readonly JsonObject[] = [
    { role: "system", content: "s" },
    {
      role: "user",
      content: [
        { type: "input_text", text: "u" },
        { type: "input_image", image_url: "data:image", detail: "auto" },
        { type: "input_image", file_id: "file_1", detail: "low" },
        { type: "input_file", filename: "n.pdf", file_data: "data:pdf" },
        { type: "input_audio", input_audio: audio },
      ],
    },
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }] },
    { type: "reasoning", id: "rs_2", summary: [] },
    {
      type: "message",
      role: "assistant",
      phase: "commentary",
      content: [{ type: "output_text", text: "c", annotations: [] }],
    },
    { ...call("1", "f"), namespace: "ns" },
    { type: "custom_tool_call", call_id: "2", name: "c", input: "free" },
    output("2", "two"),
    {
      ...output("1", ""),
      output: [
        { type: "input_text", text: "one" },
        { type: "input_image", image_url: "i" },
      ],
    },
    { type: "web_search_call", id: "ws_1", status: "completed" },
    { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
    { role: "developer", content: [] },
  ];
  const expected = expectedReading([
    { kind: "instructions", text: "i" },
    { kind: "tool", definition: { parameters: { properties: {}, type: "object" }, name: "f", type: "function" } },
    { kind: "text", role: "system", text: "s" },
    { kind: "text", role: "user", text: "u" },
    { kind: "image", role: "user", source: "data:image" },
    { kind: "image", role: "user", source: "file_1", detail: "low" },
    { kind: "file", role: "user", source: "data:pdf", filename: "n.pdf" },
    { kind: "audio", role: "user", audio },
    { kind: "reasoning", text: "hm" },
    { kind: "reasoning", id: "rs_2" },
    { kind: "text", role: "assistant", phase: "commentary", text: "c" },
    { kind: "call", name: "ns.f", arguments: '{"f":1}' },
    { kind: "call", name: "c", arguments: "free", type: "custom_tool_call" },
    { kind: "result", call: 1, text: "two" },
    { kind: "result", call: 0, text: "one" },
    { kind: "result-image", call: 0, source: "i" },
    { kind: "hosted", type: "web_search_call", id: "ws_1" },
    { kind: "refusal", role: "assistant", text: "no" },
    { kind: "empty", role: "developer" },
  ]);
  expect(readItems(items, { instructions: "i", tools: [tool] })).toEqual(expected);
});

test("results are joined to calls by position, not by id", () => {
  const once = [call("1", "f"), output("1", "a")];
  const [, , , second] = readItems([...once, ...once]);
  expect(second).toContain("call#1");
  // Of two open calls of one id, the nearest is answered first.
  const both = readItems([call("1", "f"), call("1", "g"), output("1", "a"), output("1", "b")]);
  expect(both.map((line) => line.split(" | ")[4])).toEqual(["call#0", "call#1", "call#1", "call#0"]);
  expect(readItems([output("1", "a")])[0]).toContain("call#?");
});

test("ids, statuses and ways to write the same text leave no trace; everything else does", () => {
  const base = { role: "user", content: "a" };
  const same = {
    type: "message",
    id: "msg_1",
    status: "completed",
    role: "user",
    content: [{ type: "input_text", text: "a" }],
  };
  expect(readItems([base])).toEqual(readItems([same]));
  const search = { type: "tool_search_call", call_id: "c", execution: "client", arguments: { q: 1 } };
  expect(readItems([search])).toEqual(readItems([{ ...search, call_id: "d", id: "tsc_1", status: "completed" }]));
  expect(readItems([search])).not.toEqual(readItems([{ ...search, arguments: { q: 2 } }]));
  expect(
    readItems([{ type: "additional_tools", role: "developer", tools: [{ type: "function", name: "f" }] }])[0],
  ).toMatch(/^developer \| tool \| - \| f \|/);
  expect(readItems([{ type: "configuration_update", reasoning: { effort: "low" } }])[0]).toMatch(
    /^- \| configuration_update \|/,
  );
  expect(lineOf({ kind: "tool" })).toBe("- | tool | - | - | - | -");
});
