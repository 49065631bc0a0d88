import { expect, test } from "vitest";
import type { ChatFileMessage } from "../../../src/testing/rehearsal/chat-format.ts";
import type { Entry } from "../../../src/testing/rehearsal/entries.ts";
import { playOf } from "../../../src/testing/rehearsal/exchanges.ts";

const user = (content: string): ChatFileMessage => ({ role: "user", content });
const said = (content: string): ChatFileMessage => ({ role: "assistant", content });
const tool = (id: string, content: string): ChatFileMessage => ({ role: "tool", tool_call_id: id, content });
const calling = (content: string | null, ...ids: readonly string[]): ChatFileMessage => ({
  role: "assistant",
  content,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: `use_${id}`, arguments: "{}" } })),
});

test("makes one request of every assistant message, and keeps what follows the last one", () => {
  const { exchanges, rest } = played([user("hi"), said("hello"), user("do it"), calling("now", "a"), tool("a", "1")]);
  expect(exchanges).toEqual([
    [["user hi"], ["assistant hello"]],
    [["user do it"], ["assistant now", "call a"]],
  ]);
  expect(rest).toEqual(["result a: 1"]);
});

test("pairs results by the n-th call, whatever ids they name", () => {
  const { exchanges } = played([user("hi"), calling(null, "a", "b"), tool("b", "1"), tool("a", "2"), said("so")]);
  expect(exchanges[1]?.[0]).toEqual(["result a: 1", "result b: 2"]);
});

test("makes one answer of all that a model with tools of its own says between two messages of others", () => {
  const messages = [
    ...[user("hi"), calling("now", "a"), tool("a", "1"), calling(null, "b"), tool("b", "2"), said("so")],
    ...[user("and?"), said("yes"), calling(null, "c"), tool("c", "3")],
  ];
  const { exchanges, rest } = played(messages, { hasOwnTools: true });
  expect(exchanges).toEqual([
    [["user hi"], ["assistant now", "call a", "result a: 1", "call b", "result b: 2", "assistant so"]],
    [["user and?"], ["assistant yes", "call c", "result c: 3"]],
  ]);
  expect(rest).toEqual([]);
});

test("tells calls of one answer apart that have one id", () => {
  const { exchanges } = played([user("hi"), calling(null, "a", "a"), tool("a", "1"), tool("a", "2"), said("so")]);
  expect(exchanges[0]?.[1]).toEqual(["call a", "call a_2"]);
  expect(exchanges[1]?.[0]).toEqual(["result a: 1", "result a_2: 2"]);
});

test("appends an answer before which nothing was said: there was nothing to ask", () => {
  const { exchanges } = played([said("Hello, I am the agent."), user("hi"), said("How can I help?")]);
  expect(exchanges).toEqual([[["assistant Hello, I am the agent.", "user hi"], ["assistant How can I help?"]]]);
});

test("asks for an answer that says nothing", () => {
  const { exchanges } = played([user("hi"), said(""), user("?"), said("yes")], { reasoning: true });
  expect(exchanges[0]).toEqual([["user hi"], []]);
  expect(exchanges).toHaveLength(2);
});

test("merges answers that only call into the one before, results behind the calls", () => {
  const steps = ["a", "b", "c", "d", "e", "f"].flatMap((id) => [calling(null, id), tool(id, id)]);
  const messages = [user("hi"), ...steps, calling("and", "g"), tool("g", "g"), said("so")];
  const { exchanges } = played(messages, { parallel: true });
  const answers = exchanges.map(([, answer = []]) => answer);
  expect(answers.flat()).toEqual(
    ["a", "b", "c", "d", "e", "f"].map((id) => `call ${id}`).concat(["assistant and", "call g", "assistant so"]),
  );
  const most = Math.max(...answers.map((answer) => answer.filter((line) => line.startsWith("call ")).length));
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(4);
  for (const [n, [appended = []]] of exchanges.entries()) {
    const before = (answers[n - 1] ?? []).filter((line) => line.startsWith("call "));
    if (n > 0) expect(appended).toEqual(before.map((line) => line.replace(/call (.)/, "result $1: $1")));
  }
});

test("puts reasoning before some answers, and says where in its answer each entry is", () => {
  const messages = [user("hi"), ...Array.from({ length: 40 }, (_, n) => [said(`s${n}`), user(`u${n}`)]).flat()];
  const { exchanges } = playOf({ id: "d", messages }, { seed: "1", reasoning: true, parallel: false });
  const thought = exchanges.filter(({ answer }) => answer[0]?.kind === "reasoning");
  expect(thought.length).toBeGreaterThan(8);
  expect(thought.length).toBeLessThan(32);
  for (const [answer, exchange] of exchanges.entries()) {
    const size = exchange.answer.length;
    expect(exchange.answer.map(({ place }) => place)).toEqual(
      exchange.answer.map((_, index) => ({ answer, index, size })),
    );
  }
});

function played(messages: readonly ChatFileMessage[], options: Partial<Parameters<typeof playOf>[1]> = {}) {
  const { exchanges, rest } = playOf(
    { id: "d", messages },
    { seed: "1", reasoning: false, parallel: false, ...options },
  );
  return {
    exchanges: exchanges.map(({ appended, answer }) => [appended.map(lineOf), answer.map(lineOf)]),
    rest: rest.map(lineOf),
  };
}

function lineOf(entry: Entry): string {
  switch (entry.kind) {
    case "message":
      return `${entry.role} ${entry.parts.map((part) => ("text" in part ? part.text : part.type)).join(" ")}`;
    case "call":
      return `call ${entry.callId}`;
    case "result":
      return `result ${entry.callId}: ${[entry.output].flat().join(" ")}`;
    case "reasoning":
      return `reasoning ${entry.text}`;
  }
}
