import {
  type Expected,
  expectedReading,
  functionCall,
  hosted,
  type JsonObject,
  message,
  reasoning,
  refusalMessage,
  type ScriptedAnswer,
} from "../../../packages/reference-server/src/server.ts";
import { objectsOf, parseJson } from "../../../packages/reference-server/src/wire.ts";
import { outputOf, user } from "./wire-client.ts";

export const tools = [
  { type: "function", name: "weather", description: "tool-nonce-1", parameters: {} },
  { type: "function", name: "time", description: "tool-nonce-2", parameters: {} },
];
export const settings = { instructions: "instructions-nonce", tools, include: ["reasoning.encrypted_content"] };
export const png = (nonce: string) => `data:image/png;base64,${nonce}`;

export const script: readonly ScriptedAnswer[] = [
  {
    output: [
      reasoning({ summary: "thought-nonce-1" }),
      message("commentary-nonce", { phase: "commentary" }),
      functionCall("weather", '{"city":"nonce-1"}', { callId: "call_w" }),
      functionCall("time", '{"zone":"nonce-2"}', { callId: "call_t" }),
    ],
  },
  {
    output: [
      hosted({ type: "web_search_call", status: "completed", action: { type: "search", query: "q" } }),
      reasoning({ summary: "thought-nonce-2" }),
      message("final-nonce", { phase: "final_answer" }),
      refusalMessage("refusal-nonce"),
    ],
  },
  { output: [message("answer-nonce-3")] },
  { output: [message("answer-nonce-4")] },
  { output: [message("answer-nonce-5")] },
];

/** The source document: what was said, in order, and which request each thing was first sent with. */
const opening: readonly Expected[] = [
  { kind: "text", role: "system", text: "system-nonce" },
  { kind: "text", role: "developer", text: "developer-nonce" },
  { kind: "text", role: "user", text: "user-nonce-1" },
  { kind: "image", role: "user", source: png("AAAA") },
  { kind: "text", role: "user", text: "user-nonce-2" },
];
export const firstAnswer: readonly Expected[] = [
  { kind: "reasoning", text: "thought-nonce-1" },
  { kind: "text", role: "assistant", text: "commentary-nonce", phase: "commentary" },
  { kind: "call", name: "weather", arguments: '{"city":"nonce-1"}' },
  { kind: "call", name: "time", arguments: '{"zone":"nonce-2"}' },
];
const results: readonly Expected[] = [
  { kind: "result", call: 0, text: "sunny-nonce" },
  { kind: "result", call: 1, text: "noon-nonce" },
  { kind: "result-image", call: 1, source: png("BBBB") },
];
const secondAnswer = (searchId: string): readonly Expected[] => [
  { kind: "hosted", type: "web_search_call", id: searchId },
  { kind: "reasoning", text: "thought-nonce-2" },
  { kind: "text", role: "assistant", text: "final-nonce", phase: "final_answer" },
  { kind: "refusal", role: "assistant", text: "refusal-nonce" },
];
export const said = (text: string): Expected => ({ kind: "text", role: "user", text });
const answered = (text: string): Expected => ({ kind: "text", role: "assistant", text });

/** What the model is meant to read with each of the five requests. */
export function expectations(searchId: string): readonly (readonly string[])[] {
  const first = [...opening];
  const second = [...first, ...firstAnswer, ...results];
  const third = [...second, ...secondAnswer(searchId), said("user-nonce-3")];
  // The fourth request sends everything, because the first user text was edited.
  const edited = [...third, answered("answer-nonce-3"), said("user-nonce-4")].map((entry) =>
    entry.kind === "text" && entry.text === "user-nonce-1" ? said("edited-nonce-1") : entry,
  );
  const fifth = [...edited, answered("answer-nonce-4"), said("user-nonce-5")];
  const before: readonly Expected[] = [
    { kind: "instructions", text: "instructions-nonce" },
    ...tools.map((definition): Expected => ({ kind: "tool", definition })),
  ];
  return [first, second, third, edited, fifth].map((entries) => expectedReading([...before, ...entries]));
}

export const openingItems: readonly JsonObject[] = [
  { role: "system", content: "system-nonce" },
  { role: "developer", content: "developer-nonce" },
  {
    role: "user",
    content: [
      { type: "input_text", text: "user-nonce-1" },
      { type: "input_image", image_url: png("AAAA") },
    ],
  },
  user("user-nonce-2"),
];
const timeOutput = [
  { type: "input_text", text: "noon-nonce" },
  { type: "input_image", image_url: png("BBBB") },
];
const resultItems: readonly JsonObject[] = [
  { type: "function_call_output", call_id: "call_w", output: "sunny-nonce" },
  { type: "function_call_output", call_id: "call_t", output: timeOutput },
];

/** The input of each request, from what was sent and received before it. */
export const inputs: readonly ((
  sent: readonly JsonObject[],
  responses: readonly JsonObject[],
) => readonly JsonObject[])[] = [
  () => openingItems,
  () => resultItems,
  () => [user("user-nonce-3")],
  (_sent, responses) => {
    const [one = {}, two = {}, three = {}] = responses;
    const edited = replaceText(openingItems, "user-nonce-1", "edited-nonce-1");
    return [
      ...edited,
      ...outputOf(one),
      ...resultItems,
      ...outputOf(two),
      user("user-nonce-3"),
      ...outputOf(three),
      user("user-nonce-4"),
    ];
  },
  () => [user("user-nonce-5")],
];

export function replaceText(items: readonly JsonObject[], from: string, to: string): readonly JsonObject[] {
  return objectsOf(parseJson(JSON.stringify(items).replaceAll(from, to)));
}
