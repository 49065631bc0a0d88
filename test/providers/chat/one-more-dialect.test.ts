import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import * as z from "zod";
import {
  functionCall,
  message,
  reasoning,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { createEngine, openStore, tool } from "../../../src/index.ts";
import { codecChecks } from "../../../src/testing/rehearsal/codec-checks.ts";
import { oneMore, oneMoreCodec } from "../../support/one-more/dialect.ts";

const source = readFileSync(join(import.meta.dirname, "../../support/one-more/dialect.ts"), "utf8");

/** Names, signs and literals; comments and spaces are none. */
function tokensIn(text: string): number {
  const file = ts.createSourceFile("dialect.ts", text, ts.ScriptTarget.Latest, true);
  const count = (node: ts.Node): number => {
    const children = node.getChildren(file);
    if (children.length > 0) return children.reduce((sum, child) => sum + count(child), 0);
    return node.getText(file) === "" ? 0 : 1;
  };
  return count(file);
}

test("a dialect of Chat Completions takes less than 600 tokens of TypeScript, and nothing but turnlog/provider", () => {
  const imported = ts.preProcessFile(source).importedFiles.map(({ fileName }) => fileName);
  expect(imported).toEqual(["../../../src/entries/provider.ts"]);
  expect(tokensIn("const a = 1; // one\n")).toBe(5);
  expect(tokensIn(source)).toBeLessThan(600);
});

const said = { role: "assistant", content: "I look.", thoughts: "Where?", refusal: null };
const call = { id: "call_1", type: "function", function: { name: "look-up", arguments: "{}" } };
const usage = { prompt_tokens: 3, completion_tokens: 4 };
const answers = [
  { id: "c1", choices: [{ index: 0, message: { ...said, tool_calls: [call] }, finish_reason: "tool_calls" }], usage },
  { id: "c2", choices: [{ index: 0, message: said, finish_reason: "length" }], usage },
];
for (const { name, run } of codecChecks(oneMoreCodec, { answers })) test(name, run);

test("an agent with a tool runs in it, and its requests are made again byte for byte", async () => {
  await using server = await startReferenceServer({
    chat: "vllm",
    answer: ({ request }) => ({
      output:
        request === 0
          ? [
              reasoning({ summary: "Where?" }),
              functionCall("look-up", "{}", { callId: "call_of_another_length" }),
              functionCall("look-up", '{"n":1}'),
            ]
          : [message("It is found.")],
    }),
  });
  const lookUp = tool({
    name: "look-up",
    description: "Looks up.",
    inputSchema: z.object({ n: z.exactOptional(z.number()) }),
    execute: () => "found",
  });
  await using store = await openStore("memory:", { codecs: [oneMoreCodec] });
  const conversation = store.conversation();
  await conversation.append("Where is it?");
  const { text, steps } = await conversation.run(createEngine({ provider: oneMore(server.baseUrl), tools: [lookUp] }));
  expect([text, steps.length]).toEqual(["It is found.", 2]);
  expect(server.requests.map(({ status }) => status)).toEqual([200, 200]);
  expect(server.requests[1]?.bodyText).toMatch(/"thoughts":"Where\?".*"id":"[0-9a-f]{12}"/);
  expect(await store.verify()).toMatchObject({ isSound: true, requests: 2 });
});
