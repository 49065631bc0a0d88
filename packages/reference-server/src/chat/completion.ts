import { createHash } from "node:crypto";
import type { ScriptedAnswer } from "../answers.ts";
import { chunks } from "../frames.ts";
import { isArray, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { type ChatServerDialect, thoughtMembers } from "./dialects.ts";

/** The members of a completion except its choices. */
export interface CompletionHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
  readonly dialect: ChatServerDialect;
  readonly usage: JsonObject;
}

/** The message of scripted items. Throws if no model of Chat Completions could produce it. */
export function messageOf(answer: ScriptedAnswer, { id, dialect }: Pick<CompletionHead, "id" | "dialect">): JsonObject {
  const items = answer.output.map(({ item }) => item);
  const thoughts: string[] = [];
  const parts: JsonObject[] = [];
  const calls: JsonObject[] = [];
  for (const item of items) {
    const called = callOf(item, { id: `${id}/${calls.length}`, dialect });
    if (item["type"] === "reasoning") thoughts.push(thoughtOf(item));
    else if (item["type"] === "message") parts.push(...objectsOf(item["content"]));
    else if (called !== undefined) calls.push(called);
    else throw new Error(`a model of Chat Completions does not say ${stringOf(item["type"]) ?? "this"}`);
  }
  const refusal = parts.map((part) => stringOf(part["refusal"])).find((text) => text !== undefined);
  const texts = parts.flatMap(({ text }) => (typeof text === "string" ? [text] : []));
  const member = thoughtMembers[dialect];
  const thinking = dialect === "mistral" ? thoughts.map(thinkingPart) : [];
  return {
    role: "assistant",
    content: contentOf(texts, thinking),
    ...(dialect === "openai"
      ? { refusal: refusal ?? null, annotations: [] }
      : refusal === undefined
        ? {}
        : { refusal }),
    ...(member === undefined || thoughts.length === 0 ? {} : { [member]: thoughts.join("\n\n") }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** The completion as one JSON object. */
export function completionBody(head: CompletionHead, message: JsonObject, finish: string): JsonObject {
  return {
    ...headOf(head, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: head.usage,
  };
}

/** The chunks of a stream, with the usage last if it was requested. */
export function completionChunks(
  head: CompletionHead,
  message: JsonObject,
  given: { readonly finish: string; readonly deltaLength: number; readonly isUsageAsked: boolean },
): readonly JsonObject[] {
  const { finish, deltaLength, isUsageAsked } = given;
  const chunk = (delta: JsonObject, more: JsonObject = { finish_reason: null }): JsonObject => ({
    ...headOf(head, "chat.completion.chunk"),
    choices: [{ index: 0, delta, logprobs: null, ...more }],
  });
  const { role = "assistant", content = null, tool_calls: calls, annotations: _, ...members } = message;
  const texts = (name: string, text: string): readonly JsonObject[] =>
    chunks(text, deltaLength).map((piece) => chunk({ [name]: piece }));
  const usage =
    head.dialect === "groq"
      ? [{ ...chunk({}, { finish_reason: finish }), x_groq: { id: `req_${head.id}`, usage: head.usage } }]
      : [
          chunk({}, { finish_reason: finish }),
          ...(isUsageAsked ? [{ ...headOf(head, "chat.completion.chunk"), choices: [], usage: head.usage }] : []),
        ];
  return [
    chunk({ role, content: "" }),
    ...Object.entries(members).flatMap(([name, value]) => (typeof value === "string" ? texts(name, value) : [])),
    ...(typeof content === "string"
      ? texts("content", content)
      : objectsOf(content).flatMap((part) => partDeltas(part, deltaLength).map((piece) => chunk({ content: piece })))),
    ...objectsOf(calls).flatMap((call, index) =>
      callChunks(call, deltaLength).map((piece) => chunk({ tool_calls: [{ index, ...piece }] })),
    ),
    ...usage,
  ];
}

/** Reasoning comes in parts, and the text after it as text. */
function partDeltas(part: JsonObject, deltaLength: number): readonly Json[] {
  const { thinking, closed = true } = part;
  if (part["type"] !== "thinking") return [[part]];
  const pieces = objectsOf(thinking).flatMap(({ text }) => chunks(stringOf(text) ?? "", deltaLength));
  return [
    ...pieces.map((text) => [{ type: "thinking", thinking: [{ type: "text", text }] }]),
    [{ type: "thinking", thinking: [], closed }],
  ];
}

/** Id and name come first, then the arguments in pieces. */
function callChunks(call: JsonObject, deltaLength: number): readonly JsonObject[] {
  const kind = "custom" in call ? "custom" : "function";
  const member = kind === "custom" ? "input" : "arguments";
  const [called = {}] = objectsOf([call[kind] ?? null]);
  const pieces = chunks(stringOf(called[member]) ?? "", deltaLength);
  return [
    { ...call, [kind]: { ...called, [member]: "" } },
    ...pieces.map((piece) => ({ [kind]: { [member]: piece } })),
  ];
}

const headOf = ({ id, created, model }: CompletionHead, object: string): JsonObject => ({ id, object, created, model });

/** Several texts, and reasoning among them, become parts. */
function contentOf(texts: readonly string[], thinking: readonly JsonObject[]): Json {
  if (thinking.length === 0 && texts.length < 2) return texts[0] ?? null;
  return [...thinking, ...texts.map((text) => ({ type: "text", text }))];
}

const thoughtOf = (item: JsonObject): string =>
  [item["summary"], item["content"]]
    .flatMap((texts) => (isArray(texts) ? objectsOf(texts) : []))
    .map(({ text }) => stringOf(text) ?? "")
    .join("\n\n");

const thinkingPart = (text: string): JsonObject => ({
  type: "thinking",
  thinking: [{ type: "text", text }],
  closed: true,
});

function callOf(
  item: JsonObject,
  made: { readonly id: string; readonly dialect: ChatServerDialect },
): JsonObject | undefined {
  const { type, call_id: given, name = "", arguments: text = "", input = "" } = item;
  const id = given ?? callIdFor(made);
  if (type === "function_call") return { id, type: "function", function: { name, arguments: text } };
  return type === "custom_tool_call" ? { id, type: "custom", custom: { name, input } } : undefined;
}

function callIdFor({ id, dialect }: { readonly id: string; readonly dialect: ChatServerDialect }): string {
  const hash = createHash("sha256").update(id).digest("hex");
  return dialect === "mistral" ? hash.slice(0, 9) : `call_${hash.slice(0, 24)}`;
}
