import { createHash } from "node:crypto";
import type { ScriptedAnswer, ScriptedItem } from "../answers.ts";
import { type PromptUnit, tokensIn, unitOf, unitsIn } from "../cache/prompt.ts";
import { type CacheUse, PromptCache } from "../cache/prompt-cache.ts";
import type { Front, FrontAnswer, FrontCall } from "../front.ts";
import { contentOf } from "../messages/message.ts";
import { usageOf } from "../messages/usage.ts";
import type { ReferenceServerOptions } from "../options.ts";
import type { Refusal } from "../refusals.ts";
import { untidyFor } from "../untidy.ts";
import { isArray, isObject, type Json, type JsonObject, objectsOf, parseJson, stringOf } from "../wire.ts";
import { linesText, refusedLines } from "./error-lines.ts";
import { readingOf } from "./reading.ts";
import { standInPath } from "./stand-in-command.ts";
import { untidyLines } from "./untidy.ts";

/**
 * The Claude CLI's behaviour, for the stand-in to print: sessions that keep their messages and
 * answers, and an answer in lines of stream-json, one per block, with the results of its own tools.
 */
export function createClaudeCliFront(options: ReferenceServerOptions & { readonly seed: string }): Front {
  const { seed, models, maxContextTokens = Number.POSITIVE_INFINITY } = options;
  const cache = new PromptCache("claude-cli", options);
  const sessions = new Map<string, readonly JsonObject[]>();
  let made = 0;
  const nextHash = (): string => {
    made += 1;
    return createHash("sha256").update(`${seed}:claude-cli:${made}`).digest("hex");
  };

  function render({ session, model, messages, use }: Asked, answer: ScriptedAnswer, error: JsonObject | undefined) {
    const hash = nextHash();
    const ids = { session_id: session, uuid: `${hash.slice(0, 8)}-0000-4000-8000-${hash.slice(8, 20)}` };
    const init = { type: "system", subtype: "init", model, tools: [], ...ids };
    const failure =
      error ?? (answer.status === "failed" ? { message: answer.error?.message ?? "Internal server error" } : undefined);
    if (failure !== undefined)
      return printed([init, ...refusedLines(500, stringOf(failure["message"]) ?? "Internal server error", ids)]);
    const said = answer.output.flatMap((scripted, n) => messagesOf(scripted, { seed, id: `${hash.slice(0, 8)}_${n}` }));
    const spoken = said.filter(({ role }) => role === "assistant").flatMap(({ content = null }) => objectsOf(content));
    const last = spoken.findLast(({ type }) => type === "text");
    const lines = said.map((message) => lineOf(message, { id: `msg_${hash.slice(0, 24)}`, model, ids }));
    const usage = { ...usageOf(use), output_tokens: sizeOf(spoken), ...answer.usage };
    const result = {
      ...{ type: "result", subtype: answer.status === "incomplete" ? "error_max_turns" : "success", is_error: false },
      ...{ result: last?.["text"] ?? "", num_turns: 1, stop_reason: "end_turn", usage, total_cost_usd: 0, ...ids },
    };
    const tidy = [init, ...lines, result];
    const untidy = untidyFor(options.untidy, `claude-cli:${hash}`);
    return {
      ...printed(untidy === undefined ? tidy : untidyLines(untidy, tidy)),
      commit: () => void sessions.set(session, [...messages, ...said]),
    };
  }

  return {
    takes: (method, path) => method === "POST" && path.endsWith(standInPath),
    accept({ body, index, fault }): FrontCall | { readonly refusal: Refusal } {
      if (!isObject(body)) return ends("the stand-in for the Claude CLI gives its arguments and its input");
      const words = isArray(body["arguments"]) ? body["arguments"].map((word) => stringOf(word) ?? "") : [];
      const wrong = wrongArguments(words);
      if (wrong !== undefined) return ends(wrong);
      const given = givenIn(stringOf(body["stdin"]) ?? "");
      if (given === undefined) return ends("Error parsing streaming input line");
      const resumed = wordAfter(words, "--resume");
      const history = resumed === undefined ? [] : sessions.get(resumed);
      if (history === undefined) return unknownSession(resumed ?? "");
      const messages = [...history, ...given];
      const model = wordAfter(words, "--model") ?? "reference";
      if (models?.includes(model) === false) return refusedByApi(404, `model: ${model}`);
      const size = sizeOf(messages);
      if (size > maxContextTokens)
        return refusedByApi(400, `prompt is too long: ${size} tokens > ${maxContextTokens} maximum`);
      const session = resumed ?? `session-${nextHash().slice(0, 24)}`;
      const system = wordAfter(words, "--append-system-prompt");
      const places = cache.placesOf({ model }, unitsOf(system, messages));
      const use = cache.use({ body, places, index, fault });
      return {
        ...{ body, cache: use },
        reading: () => readingOf(messages, system),
        render: (answer, error) => render({ session, messages, model, use }, answer, error),
      };
    },
    serverError: (message) => ({ status: 500, body: { error: { message } } }),
    forget: (session) => void sessions.delete(session),
    clear() {
      cache.clear();
      sessions.clear();
      made = 0;
    },
  };
}

type Asked = {
  readonly session: string;
  readonly model: string;
  readonly messages: readonly JsonObject[];
  readonly use: CacheUse;
};

/** The CLI sets a breakpoint after its system prompt, and one at the end. */
function unitsOf(system: string | undefined, messages: readonly JsonObject[]): readonly PromptUnit[] {
  const before = system === undefined ? [] : [unitOf("system", "system", system)];
  const said = unitsIn("message", "messages", messages);
  const marked = (unit: PromptUnit, at: number, all: readonly PromptUnit[]): PromptUnit =>
    at === all.length - 1 ? { ...unit, breakpoint: "5m" } : unit;
  return [...before.map(marked), ...said.map(marked)];
}

const printed = (lines: readonly JsonObject[]): FrontAnswer => ({
  outgoing: { status: 200, contentType: "application/x-ndjson", text: linesText(lines) },
  responseId: undefined,
});

/** Ends with the reason on standard error, after printing these lines. */
const ends = (stderr: string, lines: readonly JsonObject[] = []): { readonly refusal: Refusal } => ({
  refusal: { status: 400, body: { stdout: linesText(lines), stderr: `${stderr}\n` } },
});

/** A rejection by its API, which the CLI reports as an answer of its own. */
function refusedByApi(status: 400 | 404, message: string): { readonly refusal: Refusal } {
  const type = status === 404 ? "not_found_error" : "invalid_request_error";
  return { refusal: { status, body: { type: "error", error: { type, message } } } };
}

function unknownSession(id: string): { readonly refusal: Refusal } {
  const error = `No conversation found with session ID: ${id}`;
  const result = { type: "result", subtype: "error_during_execution", is_error: true, session_id: id };
  return ends(error, [{ ...result, errors: [error] }]);
}

const wordAfter = (words: readonly string[], name: string): string | undefined =>
  words.includes(name) ? words[words.indexOf(name) + 1] : undefined;

function wrongArguments(words: readonly string[]): string | undefined {
  if (!words.includes("-p")) return "Error: the stand-in takes -p only";
  if (["--output-format", "--input-format"].some((name) => wordAfter(words, name) !== "stream-json"))
    return "Error: --input-format=stream-json requires --output-format=stream-json";
  return words.includes("--verbose")
    ? undefined
    : "Error: When using --print, --output-format=stream-json requires --verbose";
}

/** The messages on its standard input, one per line; undefined if a line is not a message. */
function givenIn(stdin: string): readonly JsonObject[] | undefined {
  const lines = stdin.split("\n").filter((line) => line.trim() !== "");
  const messages = lines.map(messageIn);
  const known = messages.filter((message) => message !== undefined);
  return known.length === messages.length && known.length > 0 ? known : undefined;
}

function messageIn(text: string): JsonObject | undefined {
  let line: Json;
  try {
    line = parseJson(text);
  } catch {
    return undefined;
  }
  const message = isObject(line) && line["type"] === "user" ? line["message"] : undefined;
  if (!isObject(message) || message["role"] !== "user") return undefined;
  const { content = null } = message;
  if (typeof content === "string") return { role: "user", content: [{ type: "text", text: content }] };
  return isArray(content) && content.length > 0 ? message : undefined;
}

/** What the session keeps of a scripted item: one message for each block, and for the result of its own tool. */
function messagesOf(
  scripted: ScriptedItem,
  names: { readonly seed: string; readonly id: string },
): readonly JsonObject[] {
  const { type, call_id: callId = "", output = "" } = scripted.item;
  if (type !== "function_call_output")
    return contentOf({ output: [scripted] }, names).map((block) => ({ role: "assistant", content: [block] }));
  const content = isArray(output) ? objectsOf(output).map(({ text = "" }) => ({ type: "text", text })) : output;
  return [{ role: "user", content: [{ type: "tool_result", tool_use_id: callId, content }] }];
}

type Printing = { readonly id: string; readonly model: string; readonly ids: JsonObject };

const lineOf = (message: JsonObject, { id, model, ids }: Printing): JsonObject =>
  message["role"] === "user"
    ? { type: "user", message, parent_tool_use_id: null, ...ids }
    : {
        ...{ type: "assistant", parent_tool_use_id: null, ...ids },
        message: { id, type: "message", model, ...message, stop_reason: null },
      };

const sizeOf = (said: readonly JsonObject[]): number => tokensIn(said.map((each) => JSON.stringify(each)));
