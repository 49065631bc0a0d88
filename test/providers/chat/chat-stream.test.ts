import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import type { StreamDelta } from "../../../src/engine/stack/provider.ts";
import { ChatStream } from "../../../src/providers/chat/chat-stream.ts";

const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "any" };
const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  ...head,
  choices: [{ index: 0, delta, finish_reason: finish }],
});

/** What the chunks of a stream make, and what listeners hear. */
function played(chunks: readonly JsonObject[]) {
  const deltas: StreamDelta[] = [];
  const stream = new ChatStream((delta) => deltas.push(delta));
  for (const each of chunks) stream.take(null, each);
  return { stream, deltas };
}

test("texts are joined, calls by their index; the usage comes last", () => {
  const { stream, deltas } = played([
    chunk({ role: "assistant", content: "" }),
    chunk({ reasoning_content: "Wh" }),
    chunk({ reasoning_content: "ere?" }),
    chunk({ content: "I lo" }),
    chunk({ content: "ok." }),
    chunk({ tool_calls: [{ index: 1, id: "b", type: "function", function: { name: "two", arguments: "" } }] }),
    chunk({ tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "one", arguments: "{" } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: "}" } }] }),
    chunk({ tool_calls: [{ index: 1, function: { arguments: "[]" } }] }),
    chunk({}, "tool_calls"),
    { ...head, choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } },
  ]);
  expect(stream.end()).toEqual({
    ...head,
    object: "chat.completion",
    usage: { prompt_tokens: 3, completion_tokens: 4 },
    choices: [
      {
        index: 0,
        finish_reason: "tool_calls",
        message: {
          role: "assistant",
          content: "I look.",
          reasoning_content: "Where?",
          tool_calls: [
            { id: "a", type: "function", function: { name: "one", arguments: "{}" } },
            { id: "b", type: "function", function: { name: "two", arguments: "[]" } },
          ],
        },
      },
    ],
  });
  const heard = (type: StreamDelta["type"]) =>
    deltas.flatMap((delta) => (delta.type === type && "text" in delta ? delta.text : [])).join("");
  expect(heard("text-delta")).toBe("I look.");
  expect(heard("reasoning-delta")).toBe("Where?");
  expect(heard("tool-call-delta")).toBe("{}[]");
});

test("an error in a stream says what had come until then", () => {
  const { stream } = played([chunk({ role: "assistant", content: "It is" })]);
  expect(() => {
    stream.take(null, { error: { message: "overloaded", code: "server_error" } });
  }).toThrow(
    expect.objectContaining({
      ...{ kind: "server-error", outcome: "unknown", message: "overloaded" },
      partial: [{ role: "assistant", content: "It is" }],
    }),
  );
});

test("a stream that says nothing of its end is not finished", () => {
  expect(played([chunk({ content: "It is" })]).stream.end()).toBeNull();
});

test("parts of the content that go on with the one before are one part, as Mistral thinks and speaks", () => {
  const thinking = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
  const { stream, deltas } = played([
    chunk({ role: "assistant", content: "" }),
    chunk({ content: [thinking("Wh")] }),
    chunk({ content: [{ ...thinking("ere?"), closed: true }] }),
    chunk({ content: "In " }),
    chunk({ content: "Rome." }, "stop"),
  ]);
  expect(stream.end()).toMatchObject({
    choices: [
      {
        message: {
          content: [
            { ...thinking("Where?"), closed: true },
            { type: "text", text: "In Rome." },
          ],
        },
      },
    ],
  });
  expect(deltas.map(({ type }) => type)).toEqual(["reasoning-delta", "reasoning-delta", "text-delta", "text-delta"]);
});

test("the usage of a stream is heard, and found where Groq tells it", () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 2 } };
  const { deltas } = played([{ ...head, choices: [], usage }]);
  expect(deltas).toEqual([
    { type: "usage", usage: { inputTokens: 3, cachedInputTokens: 2, outputTokens: 4, reasoningTokens: 0 } },
  ]);
  const { stream } = played([{ ...chunk({ content: "A." }, "stop"), x_groq: { id: "req_1", usage } }]);
  expect(stream.end()).toMatchObject({ usage, x_groq: { id: "req_1" } });
});
