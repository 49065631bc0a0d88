import { expect, test } from "vitest";
import { expectedReading } from "../../packages/reference-server/src/server.ts";
import { expectedLines, readAs, type Said } from "../support/coherence/truth.ts";
import { dialects } from "../support/dialects.ts";

const ask = (name: string): string => JSON.stringify({ of: name });
const told = (call: string, output: string): string =>
  `[Result of your earlier call look-up(${call}), which was not there before:]\n${output}`;
const call = (name: string, index: number): Said => ({
  ...{ kind: "call", name: "look-up", callId: name, text: ask(name), quotedAs: "{}", shows: [] },
  group: { response: 0, index, size: 2 },
});
const result = (callId: string, text: string, before: string): Said => {
  const said = { kind: "result", callId, shows: [], group: null } as const;
  return { ...said, text, before: { ...said, text: before } };
};

test("of a message about a late result, the judge expects what it said when it was sent, each by itself", () => {
  const said: readonly Said[] = [
    ...["one", "two"].map(call),
    { kind: "user", text: "go on", shows: [], group: null },
    result("one", "[erased]", "the first"),
    result("two", "[erased]", "the second"),
  ];
  const held = new Set([told(ask("one"), "[erased]"), told("{}", "the second")]);
  const lines = expectedLines(said, { instructions: "", tools: [] }, { ...endpoint, isRead: (text) => held.has(text) });
  expect(lines.slice(-2)).toEqual(
    expectedReading([...held].map((text) => ({ kind: "text", role: "user", text }) as const)),
  );
  const none = expectedLines(said, { instructions: "", tools: [] }, endpoint);
  expect(none.at(-1)).toEqual(expectedReading([{ kind: "text", role: "user", text: told("{}", "[erased]") }])[0]);
});

const endpoint = { wire: dialects.responses, server: "server" };

test("a message that a server never held, and that was erased since, is as if it were not there", () => {
  const said: readonly Said[] = [
    { kind: "user", text: "[erased]", shows: [], group: null, isLeftOut: true },
    { kind: "user", text: "go on", shows: [], group: null },
  ];
  const lines = expectedLines(said, { instructions: "", tools: [] }, endpoint);
  expect(lines).toEqual(expectedReading([{ kind: "text", role: "user", text: "go on" }]));
});

test("a system message behind others is read as the wire writes it", () => {
  expect(readAs("Be brief.", dialects["anthropic-threads"])).toContain("<system>\nBe brief.\n</system>");
  expect(readAs("Be brief.", dialects.responses)).toContain("Be brief.");
});
