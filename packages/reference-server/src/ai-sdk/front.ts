import { createHash } from "node:crypto";
import type { ScriptedAnswer } from "../answers.ts";
import { defaultDeltaLength } from "../by-id.ts";
import { tokensIn, unitsIn } from "../cache/prompt.ts";
import { type CacheUse, PromptCache } from "../cache/prompt-cache.ts";
import { asJson } from "../delivery.ts";
import { chunks } from "../frames.ts";
import type { Front, FrontAnswer } from "../front.ts";
import type { ReferenceServerOptions } from "../options.ts";
import { type Refusal, refusal } from "../refusals.ts";
import { givenSaid, idSaid, type Untidy, untidyFor } from "../untidy.ts";
import { isArray, isObject, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { checkPrompt } from "./prompt-check.ts";
import { readingOf } from "./prompt-reading.ts";

/** The path to which `languageModel` sends the options of its calls. */
export const languageModelPath = "/language-model";

/** Answers calls of a model of the AI SDK: with one JSON object, or with the parts of its stream, one per line. */
export function createAiSdkFront(options: ReferenceServerOptions & { readonly seed: string }): Front {
  const { maxContextTokens = Number.POSITIVE_INFINITY, deltaLength = defaultDeltaLength } = options;
  const cache = new PromptCache("ai-sdk", options);
  let answers = 0;

  function render(answer: ScriptedAnswer, use: CacheUse, { isStreamed, error }: Delivery): FrontAnswer {
    const hash = createHash("sha256").update(`${options.seed}:ai-sdk:${answers}`).digest("hex");
    answers += 1;
    const id = `gen-${hash.slice(0, 24)}`;
    const untidy = untidyFor(options.untidy, `ai-sdk:${answers}`);
    const tidy = answer.output.flatMap(({ item }, index) => partsOf(item, `${id}-${index}`));
    const content = untidy === undefined ? tidy : tidy.map((part) => untidyPart(untidy, part));
    const head = { id, modelId: "reference", timestamp: new Date((options.now ?? Date.now)()).toISOString() };
    const end = { finishReason: finishOf(answer, content), usage: usageOf(content, use) };
    if (answer.status === "failed") {
      const { status, body } = failed(answer.error?.message ?? "The model failed.");
      return { outgoing: asJson(status, body), responseId: undefined };
    }
    if (!isStreamed) {
      const told =
        error === undefined ? asJson(200, { content, ...end, warnings: [], response: head }) : asJson(400, { error });
      return { outgoing: told, responseId: id };
    }
    const lines = [
      { type: "stream-start", warnings: [] },
      { type: "response-metadata", ...head },
      ...(error === undefined
        ? [...content.flatMap((part, index) => streamed(part, String(index), deltaLength)), { type: "finish", ...end }]
        : [{ type: "error", error }]),
    ];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    return { outgoing: { status: 200, contentType: "application/x-ndjson", text }, responseId: id };
  }

  return {
    takes: (method, path) => method === "POST" && path.endsWith(languageModelPath),
    accept({ body, index, fault }) {
      if (!isObject(body)) return { refusal: refusal("The options of a call are an object.") };
      const wrong = checkPrompt(body);
      if (wrong !== undefined) return { refusal: refusal(wrong) };
      const tools = unitsIn("tool", "tools", objectsOf(body["tools"]));
      const places = cache.placesOf(body, [...tools, ...unitsIn("message", "prompt", objectsOf(body["prompt"]))]);
      if ((places.at(-1)?.tokens ?? 0) > maxContextTokens)
        return { refusal: refusal("The prompt is too long.", { code: "context_length_exceeded" }) };
      const isStreamed = body["stream"] === true;
      const use = cache.use({ body, places, index, fault });
      return {
        ...{ body, cache: use },
        reading: () => readingOf(body),
        render: (answer, error) => render(answer, use, { isStreamed, error }),
      };
    },
    serverError: failed,
    clear() {
      cache.clear();
      answers = 0;
    },
  };
}

/** A call from provider packages that pass on the server's form unchanged. */
function untidyPart(untidy: Untidy, part: JsonObject): JsonObject {
  if (part["type"] !== "tool-call") return part;
  const { input, ...named } = part;
  return { ...idSaid(untidy, named, "toolCallId"), ...givenSaid(untidy, "input", input, ["tidy", "object"]) };
}

type Delivery = { readonly isStreamed: boolean; readonly error: JsonObject | undefined };

const failed = (message: string): Refusal => refusal(message, { status: 500, type: "server_error" });

/** The content parts of a scripted item. Throws if no model of the AI SDK could produce it. */
function partsOf(item: JsonObject, id: string): readonly JsonObject[] {
  const { type, name = "", arguments: input = "", call_id: callId = `call_${id}` } = item;
  const texts = [item["summary"], item["content"]].flatMap((parts) => (isArray(parts ?? null) ? objectsOf(parts) : []));
  if (type === "message") return texts.map(({ text, refusal }) => ({ type: "text", text: text ?? refusal ?? "" }));
  if (type === "function_call") return [{ type: "tool-call", toolCallId: callId, toolName: name, input }];
  if (type !== "reasoning") throw new Error(`a model of the AI SDK does not say ${stringOf(type) ?? "this"}`);
  const text = texts.map((part) => stringOf(part["text"]) ?? "").join("\n\n");
  return [{ type: "reasoning", text, providerMetadata: { reference: { signature: `signed ${id}` } } }];
}

function finishOf({ status, incompleteDetails }: ScriptedAnswer, content: readonly JsonObject[]): JsonObject {
  if (status === "incomplete") {
    const unified = incompleteDetails?.reason === "content_filter" ? "content-filter" : "length";
    return { unified, raw: incompleteDetails?.reason ?? unified };
  }
  const unified = content.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop";
  return { unified, raw: unified };
}

function usageOf(
  content: readonly JsonObject[],
  { prompt, read, written, isTold, areWritesTold }: CacheUse,
): JsonObject {
  const tokensOf = (parts: readonly JsonObject[]): number => tokensIn(parts.map((part) => JSON.stringify(part)));
  const total = tokensOf(content);
  const reasoning = tokensOf(content.filter(({ type }) => type === "reasoning"));
  return {
    inputTokens: {
      total: prompt,
      ...(isTold ? { noCache: prompt - read, cacheRead: read } : {}),
      ...(areWritesTold ? { cacheWrite: written.all } : {}),
    },
    outputTokens: { total, text: total - reasoning, reasoning },
  };
}

/** A part in a stream: texts in pieces; calls in pieces and then as a whole. */
function streamed(part: JsonObject, id: string, deltaLength: number): readonly JsonObject[] {
  const { type, text, toolCallId, toolName = "", input, providerMetadata } = part;
  const pieces = (kind: string, of: string, whole: string): JsonObject[] =>
    chunks(whole, deltaLength).map((delta) => ({ type: `${kind}-delta`, id: of, delta }));
  if (type === "tool-call") {
    const callId = stringOf(toolCallId) ?? "";
    return [
      { type: "tool-input-start", id: callId, toolName },
      ...pieces("tool-input", callId, stringOf(input) ?? ""),
      ...[{ type: "tool-input-end", id: callId }, part],
    ];
  }
  const kind = stringOf(type) ?? "";
  return [
    { type: `${kind}-start`, id },
    ...pieces(kind, id, stringOf(text) ?? ""),
    { type: `${kind}-end`, id, ...(providerMetadata === undefined ? {} : { providerMetadata }) },
  ];
}
