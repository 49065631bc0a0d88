import { expect, test } from "vitest";
import { type Entry, type MadeEntry, messageOf } from "../../../src/testing/rehearsal/entries.ts";
import { expectedOf } from "../../../src/testing/rehearsal/expected.ts";

// What the rule "Planning and shaping" says of requests, on lists small enough to be checked by eye.

test("reads an untouched conversation unchanged", () => {
  const answered = answer(0, thought("hm"), said("let me look"), call("a"), call("b"));
  expect(reading(user("hi"), ...answered, result("a"), result("b"))).toEqual([
    "user hi",
    "reasoning hm",
    "assistant let me look",
    "call a",
    "call b",
    "result#0 of a",
    "result#1 of b",
  ]);
});

test("answers an open call before the next entry outside its answer, and at the end", () => {
  expect(reading(...answer(0, call("a"), call("b")), result("b"), user("go on"), ...answer(1, call("c")))).toEqual([
    "call a",
    "call b",
    "result#1 of b",
    "result#0 aborted",
    "user go on",
    "call c",
    "result#2 aborted",
  ]);
});

test("leaves out a result whose call is gone, or was answered already", () => {
  const [a, b] = answer(0, call("a"), call("b"));
  expect(reading(a, result("b"), result("a"), result("a"))).toEqual(["call a", "result#0 of a"]);
  expect(reading(user("x"), result("b"), b)).toEqual(["user x", "call b", "result#0 aborted"]);
});

test("says a result that comes when others have spoken, once, by a message that names its call", () => {
  const [a] = answer(0, call("a"));
  expect(reading(a, user("x"), result("a"), result("a"))).toEqual([
    ...["call a", "result#0 aborted", "user x"],
    late("a"),
  ]);
});

test("pairs ids that come again by position", () => {
  expect(reading(...answer(0, call("a")), result("a"), ...answer(1, call("a")), result("a"))).toEqual([
    "call a",
    "result#0 of a",
    "call a",
    "result#1 of a",
  ]);
});

test("drops the reasoning of an answer that was changed", () => {
  const [hm, look, a] = answer(0, thought("hm"), said("look"), call("a"));
  expect(reading(hm, look, a, result("a"))).toContain("reasoning hm");
  expect(reading(hm, a, look, result("a"))).not.toContain("reasoning hm");
  expect(reading(hm, look, result("a"))).not.toContain("reasoning hm");
  expect(reading(hm, user("between"), look, a, result("a"))).not.toContain("reasoning hm");
  expect(reading(look, a, result("a"), hm)).not.toContain("reasoning hm");
});

test("drops the reasoning of an answer that something was inserted into, though the wire does not take it", () => {
  const [hm, look] = answer(0, thought("hm"), said("look"));
  const [foreign, saw] = answer(1, thought("aha"), said("saw"));
  const isOwn = ({ place }: Entry) => place?.answer !== 1;
  const read = (...entries: readonly (Entry | undefined)[]) =>
    expectedOf(
      entries.filter((entry) => entry !== undefined),
      { takes: isOwn },
    ).map(({ kind }) => kind);
  expect(read(hm, look, foreign, saw)).toEqual(["reasoning", "text"]);
  expect(read(hm, foreign, look, saw)).toEqual(["text"]);
});

test("an edited call has left its answer, so the calls beside it are answered before it", () => {
  const [a] = answer(0, call("a"), call("b"));
  expect(reading(a, call("b"), result("a"), result("b"))).toEqual([
    "call a",
    "result#0 aborted",
    "call b",
    "result#1 aborted",
    late("a"),
    late("b"),
  ]);
});

test("calls that no answer groups may be open together only where they are neighbours", () => {
  expect(reading(call("a"), call("b"), result("a"), result("b")).at(-1)).toBe("result#1 of b");
  expect(reading(call("a"), call("b"), result("b"), call("c"), result("a"))).toEqual([
    "call a",
    "call b",
    "result#1 of b",
    "result#0 aborted",
    "call c",
    "result#2 aborted",
    late("a"),
  ]);
});

test("the system messages at the beginning lead, and what is not read ends them as everything else does", () => {
  const leading = (...entries: readonly Entry[]) =>
    expectedOf(entries, { takes: ({ kind }) => kind !== "reasoning" }).map((line) =>
      "leads" in line ? line.leads : null,
    );
  const system = (words: string): MadeEntry => messageOf("system", words);
  expect(leading(system("a"), messageOf("developer", "b"), user("hi"), system("c"))).toEqual([0, 1, null, null]);
  expect(leading(system("a"), thought("hm"), system("b"), said("hi"))).toEqual([0, null, null]);
  expect(leading(system("a"), system("b"))).toEqual([null, null]);
});

const late = (name: string): string =>
  `user [Result of your earlier call ${name}({}), which was not there before:]\nof ${name}`;

function reading(...entries: readonly (Entry | undefined)[]): readonly string[] {
  return expectedOf(entries.filter((entry) => entry !== undefined)).map((line) => {
    if (line.kind === "result") return `result#${line.call} ${line.text}`;
    if (line.kind === "call") return `call ${line.name}`;
    if (line.kind === "reasoning") return `reasoning ${line.text}`;
    return line.kind === "text" ? `${line.role} ${line.text}` : line.kind;
  });
}

const user = (words: string): MadeEntry => messageOf("user", words);
const said = (words: string): MadeEntry => messageOf("assistant", words);
const call = (id: string): MadeEntry => ({ kind: "call", callId: id, name: id, arguments: "{}" });
const result = (id: string): MadeEntry => ({ kind: "result", callId: id, output: `of ${id}` });
const thought = (text: string): Entry => ({ kind: "reasoning", text });

/** The entries as one answer of the model gave them. */
function answer(number: number, ...entries: readonly Entry[]): readonly Entry[] {
  return entries.map((entry, index) => ({ ...entry, place: { answer: number, index, size: entries.length } }));
}
