import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import type { StreamDelta } from "../../../src/engine/ports/provider.ts";
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
    {
      type: "usage",
      usage: { inputTokens: 3, cachedInputTokens: 2, outputTokens: 4, reasoningTokens: 0 },
      reported: usage,
    },
  ]);
  const { stream } = played([{ ...chunk({ content: "A." }, "stop"), x_groq: { id: "req_1", usage } }]);
  expect(stream.end()).toMatchObject({ usage, x_groq: { id: "req_1" } });
});

type Call = { readonly id: string; readonly name: string; readonly given: string };

/** The calls that chunks make. */
const callsOf = (pieces: readonly (readonly JsonObject[])[]): readonly Call[] => {
  const { stream } = played([...pieces.map((calls) => chunk({ tool_calls: calls })), chunk({}, "tool_calls")]);
  const { choices } = (stream.end() ?? {}) as {
    readonly choices: readonly {
      readonly message: {
        readonly tool_calls: readonly {
          readonly id: string;
          readonly function: { readonly name: string; readonly arguments: string };
        }[];
      };
    }[];
  };
  return (choices[0]?.message.tool_calls ?? []).map(({ id, function: called }) => ({
    id,
    name: called.name,
    given: called.arguments,
  }));
};
const begun = (index: JsonValue | undefined, id: JsonValue | undefined, name: string, given = ""): JsonObject => ({
  ...{ index, id, type: "function", function: { name, arguments: given } },
});
const more = (index: JsonValue | undefined, given: string, id?: JsonValue): JsonObject => ({
  index,
  id,
  function: { arguments: given },
});

test.each<readonly [string, readonly (readonly JsonObject[])[]]>([
  ["with an index of their own", [[begun(0, "a", "one")], [more(0, "{}")], [begun(1, "b", "two")], [more(1, "[]")]]],
  ["that all say index 0", [[begun(0, "a", "one")], [more(0, "{}")], [begun(0, "b", "two")], [more(0, "[]")]]],
  ["that all say index 0, whole and in one chunk", [[begun(0, "a", "one", "{}"), begun(0, "b", "two", "[]")]]],
  [
    "that say their index as a text",
    [[begun("0", "a", "one")], [more("0", "{}")], [begun("1", "b", "two")], [more("1", "[]")]],
  ],
  [
    "without an index",
    [[begun(undefined, "a", "one")], [more(undefined, "{}")], [begun(undefined, "b", "two")], [more(undefined, "[]")]],
  ],
  [
    "whose pieces say the id again, and no index",
    [[begun(null, "a", "one")], [begun(null, "b", "two")], [more(null, "{}", "a")], [more(null, "[]", "b")]],
  ],
  [
    "whose pieces have an id of nothing",
    [[begun(0, "a", "one")], [more(0, "{}", "")], [begun(1, "b", "two")], [more(1, "[]", null)]],
  ],
  [
    "whose pieces say everything again",
    [
      [begun(0, "a", "one", "{")],
      [begun(0, "a", "one", "}")],
      [begun(1, "b", "two", "[")],
      [begun(1, "b", "two", "]")],
    ],
  ],
])("calls %s are two calls", (_, pieces) => {
  expect(callsOf(pieces)).toEqual([
    { id: "a", name: "one", given: "{}" },
    { id: "b", name: "two", given: "[]" },
  ]);
});

test("whole calls without ids and indexes are as many as were said, also of one function", () => {
  const calls = callsOf([
    [begun(undefined, undefined, "one", "{}")],
    [begun(undefined, undefined, "one", '{"n":1}')],
    [begun(undefined, undefined, "two", "{}")],
  ]);
  expect(calls.map(({ name, given }) => `${name} ${given}`)).toEqual(["one {}", 'one {"n":1}', "two {}"]);
});

test("arguments that are an object stay one", () => {
  const { stream, deltas } = played([
    chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "one", arguments: { city: "Rome" } } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: "" } }] }, "tool_calls"),
  ]);
  expect(stream.end()).toMatchObject({
    choices: [{ message: { tool_calls: [{ function: { name: "one", arguments: { city: "Rome" } } }] } }],
  });
  expect(deltas).toEqual([
    { type: "item-start", outputIndex: 1, kind: "tool-call", callId: "a", name: "one" },
    { type: "tool-call-delta", outputIndex: 1, text: '{"city":"Rome"}' },
  ]);
});

test("what every chunk says of its choice is kept: probabilities, speech, notes, and members of any name", () => {
  const logged = (token: string): JsonObject => ({ content: [{ token, logprob: -0.5 }], refusal: null });
  const of = (delta: JsonObject, members: JsonObject = {}): JsonObject => ({
    ...head,
    choices: [{ index: 0, delta, ...members }],
  });
  const { stream } = played([
    of({ role: "assistant", content: "It ", audio: { id: "audio_1", transcript: "It " } }, { logprobs: logged("It") }),
    of({ content: "is.", audio: { transcript: "is.", data: "AAAA" } }, { logprobs: logged("is.") }),
    of({ audio: { data: "BBBB", expires_at: 9 }, annotations: [{ n: 1 }], aside: "so " }, { token_ids: [1] }),
    of({ annotations: [{ n: 2 }], aside: "far", images: [{ n: 3 }] }, { token_ids: [2], finish_reason: "stop" }),
  ]);
  expect(stream.end()?.["choices"]).toEqual([
    {
      ...{ index: 0, finish_reason: "stop", token_ids: [1, 2] },
      logprobs: { content: [...["It", "is."].flatMap((token) => logged(token)["content"])] },
      message: {
        ...{ role: "assistant", content: "It is.", aside: "so far", images: [{ n: 3 }] },
        audio: { id: "audio_1", transcript: "It is.", data: "AAAABBBB", expires_at: 9 },
        annotations: [{ n: 1 }, { n: 2 }],
      },
    },
  ]);
});

test("choices beside the first are kept, and not heard", () => {
  const other = (content: string): JsonObject => ({
    ...head,
    choices: [{ index: 1, delta: { content }, finish_reason: "stop" }],
  });
  const { stream, deltas } = played([chunk({ content: "A." }), other("B"), other("."), chunk({}, "stop")]);
  expect(stream.end()).toMatchObject({
    choices: [{ message: { content: "A." } }, { index: 1, message: { content: "B." } }],
  });
  expect(deltas).toEqual([{ type: "text-delta", outputIndex: 0, text: "A." }]);
});

test("a message that comes whole in the last chunk is read", () => {
  const { stream } = played([
    { ...head, choices: [{ index: 0, message: { role: "assistant", content: "A." }, finish_reason: "stop" }] },
  ]);
  expect(stream.end()).toMatchObject({ choices: [{ message: { content: "A." } }] });
});

test("reasoning in details is joined as it goes on, with the signature that comes behind it", () => {
  const detail = (members: JsonObject): JsonObject => ({
    reasoning_details: [{ type: "reasoning.text", index: 0, ...members }],
  });
  const { stream } = played([
    chunk({ ...detail({ text: "Wh", format: "anthropic-claude-v1" }), reasoning: "Wh" }),
    chunk({ ...detail({ text: "ere?" }), reasoning: "ere?" }),
    chunk(detail({ text: null, signature: "c2ln" })),
    chunk({ reasoning_details: [{ type: "reasoning.encrypted", index: 1, data: "QQ==" }] }),
    chunk({ content: "Rome." }, "stop"),
  ]);
  expect(stream.end()).toMatchObject({
    choices: [
      {
        message: {
          reasoning: "Where?",
          reasoning_details: [
            { type: "reasoning.text", index: 0, text: "Where?", format: "anthropic-claude-v1", signature: "c2ln" },
            { type: "reasoning.encrypted", index: 1, data: "QQ==" },
          ],
        },
      },
    ],
  });
});
