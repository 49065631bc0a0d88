import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { message, startReferenceServer } from "../../packages/reference-server/src/server.ts";
import { isJsonObject, type JsonValue, parseJson } from "../../src/base/json.ts";
import { createEngine, openStore, type RunSettings, tool } from "../../src/index.ts";
import { type RehearsalProvider, rehearsalProviders } from "../../src/testing/rehearsal/ports.ts";
import { rehearsedProviders } from "../../src/testing/rehearsal/rehearsed-providers.ts";
import { eventsOf } from "../support/workshop.ts";

const document = readFileSync(resolve(import.meta.dirname, "../../docs/HANDOFF.md"), "utf8");
const [, section = ""] = /\n## Settings of a run\n(.*?)\n## /s.exec(document) ?? [];
const [head = [], , ...rows] = section
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

type Options = RunSettings & { readonly output?: z.ZodType };

/** What a run asks in each column, in the order of the table; `others` are further values of the same setting. */
const asked: readonly { readonly options: Options; readonly others?: readonly Options[] }[] = [
  {
    options: { toolChoice: "required" },
    others: [{ toolChoice: "none" }, { toolChoice: { tool: "look" } }],
  },
  { options: { output: z.object({ city: z.string() }) } },
  { options: { maxOutputTokens: 77 } },
  { options: { temperature: 0.5, topP: 0.25 } },
  { options: { reasoningEffort: "low" } },
  { options: { parallelToolCalls: false } },
];

const wires: Readonly<Record<RehearsalProvider, string>> = {
  responses: "Responses API",
  chat: "Chat Completions",
  "chat-openai": "Chat Completions",
  "chat-deepseek": "Chat Completions",
  "chat-mistral": "Chat Completions",
  "chat-groq": "Chat Completions",
  "chat-llama.cpp": "Chat Completions",
  "chat-ollama": "Chat Completions",
  anthropic: "Messages API",
  "anthropic-threads": "Messages API",
  google: "Gemini",
  "google-interactions": "Interactions",
  ollama: "Ollama",
  "claude-cli": "Claude CLI",
  "ai-sdk": "AI SDK",
};
/** Dialects that say a limit of tokens in the older way. */
const olderLimit: ReadonlySet<RehearsalProvider> = new Set([
  ...(["chat-deepseek", "chat-mistral", "chat-llama.cpp", "chat-ollama"] as const),
]);

const look = tool({
  ...{ name: "look", description: "Looks.", inputSchema: z.object({ of: z.string() }) },
  execute: () => "seen",
});

/** What a run with these options sends, or why it is refused; `before` is what the conversation had. */
async function runWith(name: RehearsalProvider, options: Options) {
  const { server: dialect, provider, hasOwnTools } = rehearsedProviders[name];
  await using server = await startReferenceServer({
    ...dialect,
    answer: () => ({ output: [message('{"city":"Paris"}')] }),
  });
  const engine = createEngine({
    provider: provider(server.baseUrl, "json"),
    // The Claude CLI is offered none, and refuses to be told how to choose all the same.
    tools: hasOwnTools === true ? [] : [look],
  });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("Which city?");
  const before = await eventsOf(conversation);
  const refusal = await conversation.run(engine, options).then(
    () => null,
    (error: unknown) => error,
  );
  const after = await eventsOf(conversation);
  const body = server.requests.at(-1)?.bodyText;
  return { refusal, body: body === undefined ? null : parseJson(body), isUntouched: after.length === before.length };
}

const memberAt = (body: JsonValue, path: string): JsonValue | undefined =>
  path.split(".").reduce<JsonValue | undefined>((at, name) => (isJsonObject(at) ? at[name] : undefined), body);

test("the table has a row for each wire, and a column for each setting", () => {
  expect(rows.map(([wire]) => wire).toSorted()).toEqual([...new Set(Object.values(wires))].toSorted());
  expect(head).toHaveLength(asked.length + 1);
});

describe.each(rehearsalProviders)("%s", (name) => {
  let without: ReturnType<typeof runWith> | undefined;
  const row = rows.find(([wire]) => wire === wires[name]) ?? [];
  test.each(asked.map((column, n) => [head[n + 1] ?? "", row[n + 1] ?? "", column] as const))(
    "%s is as the table says: %s",
    async (_, cell, { options, others = [] }) => {
      const isRefused = cell.startsWith("refused");
      for (const each of [options, ...others]) {
        const { refusal, body, isUntouched } = await runWith(name, each);
        const [setting = ""] = Object.keys(each);
        if (isRefused) {
          expect([body, isUntouched]).toEqual([null, true]);
          // There is no tool that it could be told to call.
          const isNamed = new RegExp(name === "claude-cli" && setting === "toolChoice" ? "tool" : setting);
          expect(String(refusal)).toMatch(isNamed);
          continue;
        }
        expect(refusal).toBe(null);
        const said = [...cell.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path);
        const [first = "", second = ""] = said;
        const members = setting === "temperature" ? said : [olderLimit.has(name) && second !== "" ? second : first];
        without ??= runWith(name, {});
        const usual = await without;
        for (const path of members) {
          expect(memberAt(body, path), path).toBeDefined();
          expect(memberAt(body, path), path).not.toEqual(memberAt(usual.body, path));
        }
      }
    },
  );
});
