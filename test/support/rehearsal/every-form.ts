import type { ChatDocument } from "../../../src/testing/rehearsal/chat-format.ts";

const called = (id: string, name: string) => ({
  id,
  type: "function" as const,
  function: { name, arguments: `{"of": "${id}"}` },
});

/** Parts of every kind, a refusal, calls that share one id, an empty answer, and results as lists. */
export const everyForm: ChatDocument = {
  id: "every form",
  messages: [
    {
      role: "developer",
      content: [
        { type: "text", text: "Be kind." },
        { type: "text", text: "Be brief." },
      ],
    },
    // Without one of them there is still something that all providers can be told.
    { role: "user", content: "Hello." },
    { role: "user", content: "Are you there?" },
    {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
        { type: "image_url", image_url: { url: "data:image/png;base64,BBBB" } },
        { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,CCCC" } },
        { type: "file", file: { file_id: "file-1" } },
        { type: "input_audio", input_audio: { data: "DDDD", format: "wav" } },
      ],
    },
    { role: "assistant", content: "Let me look.", tool_calls: [called("c", "look"), called("c", "see")] },
    { role: "tool", tool_call_id: "c", content: "a cat" },
    {
      role: "tool",
      tool_call_id: "c",
      content: [
        { type: "text", text: "a dog" },
        { type: "text", text: "a cow" },
      ],
    },
    { role: "assistant", content: "" },
    { role: "user", content: "Well?" },
    { role: "assistant", content: null, refusal: "I will not say." },
    { role: "user", content: "Please." },
    {
      role: "assistant",
      content: [
        { type: "text", text: "A cat," },
        { type: "text", text: " a dog, a cow." },
      ],
    },
    { role: "assistant", content: "Anything else?" },
    { role: "user", content: "No." },
  ],
};
