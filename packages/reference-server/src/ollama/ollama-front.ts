import { createHash } from "node:crypto";
import type { ScriptedAnswer } from "../answers.ts";
import { defaultDeltaLength } from "../by-id.ts";
import { tokensIn, unitsIn } from "../cache/prompt.ts";
import { type CacheUse, PromptCache } from "../cache/prompt-cache.ts";
import { asJson } from "../delivery.ts";
import { chunks } from "../frames.ts";
import type { Front, FrontAnswer, FrontCall } from "../front.ts";
import type { ReferenceServerOptions } from "../options.ts";
import type { Refusal } from "../refusals.ts";
import { untidyFor } from "../untidy.ts";
import { isArray, isObject, type Json, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { readingOf } from "./reading.ts";
import { checkRequest, said } from "./request.ts";
import { untidyEnd, untidyMessage } from "./untidy.ts";

/** Ollama's own `/api/chat`, which keeps only the prefixes of prompts between requests. */
export function createOllamaFront(options: ReferenceServerOptions & { readonly seed: string }): Front {
  const { models, maxContextTokens = Number.POSITIVE_INFINITY, deltaLength = defaultDeltaLength } = options;
  const cache = new PromptCache("ollama", options);
  let answers = 0;

  function render(body: JsonObject, use: CacheUse, { answer, error }: Rendered): FrontAnswer {
    const hash = createHash("sha256").update(`${options.seed}:ollama:${answers}`).digest("hex");
    answers += 1;
    if (answer.status === "failed") {
      const { status, body: told } = said(
        answer.error?.message ?? "an error was encountered while running the model",
        500,
      );
      return { outgoing: asJson(status, told), responseId: undefined };
    }
    const untidy = untidyFor(options.untidy, `ollama:${answers}`);
    const tidy = messageOf(answer, hash);
    const message = untidy === undefined ? tidy : untidyMessage(untidy, tidy);
    const head = {
      model: stringOf(body["model"]) ?? "",
      created_at: new Date((options.now ?? Date.now)()).toISOString(),
    };
    const tidyEnd = {
      ...{ done: true, done_reason: doneReason(answer, body) },
      ...{
        total_duration: 1_000_000,
        load_duration: 1_000,
        prompt_eval_count: use.prompt,
        prompt_eval_duration: 2_000,
      },
      ...(use.isTold ? { prompt_eval_cached_count: use.read } : {}),
      ...{ eval_count: tokensIn([JSON.stringify(message)]), eval_duration: 3_000 },
      ...answer.usage,
    };
    const end = untidy === undefined ? tidyEnd : untidyEnd(untidy, tidyEnd);
    if (body["stream"] === false)
      return {
        outgoing: error === undefined ? asJson(200, { ...head, message, ...end }) : asJson(500, errorLine(error)),
        responseId: undefined,
      };
    const lines = linesOf(message, deltaLength).map((each) => ({ ...head, message: each, done: false }));
    const last = { ...head, message: { role: "assistant", content: "" }, ...end };
    const told = error === undefined ? [...lines, last] : [...lines.slice(0, 1), errorLine(error)];
    const text = told.map((line) => `${JSON.stringify(line)}\n`).join("");
    return { outgoing: { status: 200, contentType: "application/x-ndjson", text }, responseId: undefined };
  }

  return {
    takes: (method, path) => method === "POST" && path.endsWith("/api/chat"),
    accept({ body, index, fault }): FrontCall | { readonly refusal: Refusal } {
      if (!isObject(body)) return { refusal: said("invalid character in the request body") };
      const wrong = checkRequest(body, models);
      if (wrong !== undefined) return { refusal: wrong };
      const messages = objectsOf(body["messages"]);
      const tools = tokensIn(objectsOf(body["tools"]).map((tool) => JSON.stringify(tool)));
      const fitting = within(messages, maxContextTokens - tools);
      if (fitting.length < messages.length && body["truncate"] === false)
        return { refusal: said("the input length exceeds the context length") };
      const units = [...unitsIn("tool", "tools", objectsOf(body["tools"])), ...unitsIn("message", "messages", fitting)];
      const use = cache.use({ body, places: cache.placesOf(body, units), index, fault });
      return {
        ...{ body, cache: use },
        reading: () => readingOf(body, fitting),
        render: (answer, error) => render(body, use, { answer, error }),
      };
    },
    serverError: (message) => said(message, 500),
    clear() {
      cache.clear();
      answers = 0;
    },
  };
}

type Rendered = { readonly answer: ScriptedAnswer; readonly error: JsonObject | undefined };

const errorLine = ({ message }: JsonObject): JsonObject => ({ error: stringOf(message) ?? "the model runner failed" });

const sizeOf = (messages: readonly JsonObject[]): number =>
  tokensIn(messages.map((message) => JSON.stringify(message)));

/** Omits the oldest messages until the rest fits, except for system messages and the last message. */
function within(messages: readonly JsonObject[], max: number): readonly JsonObject[] {
  for (let start = 0; start < messages.length; start += 1) {
    const system = messages.slice(0, start).filter(({ role }) => role === "system");
    const kept = [...system, ...messages.slice(start)];
    if (sizeOf(kept) <= max || start === messages.length - 1) return kept;
  }
  return messages;
}

/** A request without messages only loads the model. */
function doneReason({ status }: ScriptedAnswer, { messages }: JsonObject): string {
  if (isArray(messages) && messages.length === 0) return "load";
  return status === "incomplete" ? "length" : "stop";
}

/** The message of scripted items. Throws if no model of Ollama could produce it. */
function messageOf(answer: ScriptedAnswer, hash: string): JsonObject {
  const thoughts: string[] = [];
  const texts: string[] = [];
  const calls: JsonObject[] = [];
  for (const { item } of answer.output) {
    if (item["type"] === "reasoning") thoughts.push(...textsIn(item["summary"]), ...textsIn(item["content"]));
    else if (item["type"] === "message") texts.push(...textsIn(item["content"]));
    else if (item["type"] === "function_call") calls.push(callOf(item, hash, calls.length));
    else throw new Error(`a model of Ollama does not say ${stringOf(item["type"]) ?? "this"}`);
  }
  return {
    role: "assistant",
    content: texts.join("\n\n"),
    ...(thoughts.length === 0 ? {} : { thinking: thoughts.join("\n\n") }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

const textsIn = (parts: JsonObject[string] | undefined): readonly string[] =>
  (isArray(parts) ? objectsOf(parts) : []).flatMap(({ text, refusal }) => stringOf(text ?? refusal) ?? []);

function callOf(item: JsonObject, hash: string, index: number): JsonObject {
  // JSON.parse returns only JSON values.
  const given = JSON.parse(stringOf(item["arguments"]) ?? "{}") as Json;
  if (!isObject(given)) throw new Error("a model of Ollama gives a call its arguments as an object");
  const id =
    stringOf(item["call_id"]) ?? `call_${createHash("sha256").update(`${hash}/${index}`).digest("hex").slice(0, 8)}`;
  return { id, function: { index, name: item["name"] ?? "", arguments: given } };
}

/** The lines of a stream, in order: reasoning and texts in pieces, calls as a whole. */
function linesOf({ thinking, content, tool_calls: calls }: JsonObject, deltaLength: number): readonly JsonObject[] {
  const plain = { role: "assistant", content: "" };
  return [
    ...chunks(stringOf(thinking) ?? "", deltaLength).map((piece) => ({ ...plain, thinking: piece })),
    ...chunks(stringOf(content) ?? "", deltaLength).map((piece) => ({ ...plain, content: piece })),
    ...objectsOf(calls).map((call) => ({ ...plain, tool_calls: [call] })),
  ];
}
