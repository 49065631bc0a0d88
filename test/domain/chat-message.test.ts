import { expect, test } from "vitest";
import { type AppendInput, draftsOf } from "../../src/domain/chat-message.ts";
import {
  assistant,
  audio,
  file,
  image,
  system,
  text,
  toolCall,
  toolResult,
  user,
} from "../../src/domain/make-block.ts";
import { createWorkshop } from "../support/workshop.ts";

const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } } as const;
const called = toolCall({ callId: "call_1", name: "weather", arguments: '{"city":"Paris"}' });

test.each<[string, AppendInput | readonly AppendInput[], ReturnType<typeof draftsOf>]>([
  ["a text", "hi", [user("hi")]],
  ["a user's message", { role: "user", content: "hi" }, [user("hi")]],
  ["a system message", { role: "system", content: "be brief" }, [system("be brief")]],
  ["a developer's", { role: "developer", content: "be brief" }, [system("be brief", "developer")]],
  ["an assistant's", { role: "assistant", content: "hello" }, [assistant("hello")]],
  [
    "one as an API answers it, with members that say nothing",
    { role: "assistant", content: "hello", refusal: null, annotations: [], audio: null } as AppendInput,
    [assistant("hello")],
  ],
  ["a refusal", { role: "assistant", content: null, refusal: "no" }, [assistant([{ type: "refusal", refusal: "no" }])]],
  ["a call", { role: "assistant", content: null, tool_calls: [call] }, [called]],
  ["a call with words", { role: "assistant", content: "I look", tool_calls: [call] }, [assistant("I look"), called]],
  [
    "a tool's answer",
    { role: "tool", tool_call_id: "call_1", content: "72F" },
    [toolResult({ callId: "call_1", output: "72F" })],
  ],
  [
    "a tool's answer in parts",
    { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: "72F" }] },
    [toolResult({ callId: "call_1", output: [text("72F")] })],
  ],
  [
    "parts of the chat API",
    {
      role: "user",
      content: [
        { type: "text", text: "See" },
        { type: "image_url", image_url: { url: "data:,", detail: "low" } },
        { type: "image_url", image_url: { url: "data:," } },
        { type: "input_audio", input_audio: { data: "AA==", format: "wav" } },
        { type: "file", file: { file_id: "file_1" } },
      ],
    },
    [user([text("See"), image("data:,", "low"), image("data:,"), audio("AA==", "wav"), file({ fileId: "file_1" })])],
  ],
  [
    "parts of the Responses API",
    {
      role: "user",
      content: [
        { type: "input_text", text: "See" },
        { type: "input_image", image_url: "data:,", detail: "auto" },
      ],
    },
    [user([text("See"), image("data:,")])],
  ],
  [
    "a list of several kinds",
    ["hi", assistant("hello"), { role: "user", content: "and?" }],
    [user("hi"), assistant("hello"), user("and?")],
  ],
])("%s is said by blocks", (_what, said, blocks) => {
  expect(draftsOf(said).map(({ kind, payload }) => ({ kind, payload }))).toEqual(
    blocks.map(({ kind, payload }) => ({ kind, payload })),
  );
  expect(draftsOf(said).map(({ digest }) => digest)).toEqual(blocks.map(({ digest }) => digest));
});

test("a message of a chat API is appended, answered, and appended once under its key", async () => {
  const { conversation, scripted } = createWorkshop();
  const { engine, provider } = scripted(["Sunny."]);
  const said = { role: "user", content: [{ type: "text", text: "What is the weather?" }] } as const;
  await conversation.append(said, { key: "message-1" });
  await conversation.append(said, { key: "message-1" });
  await conversation.run(engine);
  expect(provider.reading(0)).toEqual([
    { type: "message", role: "user", content: [{ type: "input_text", text: "What is the weather?" }] },
  ]);
});
