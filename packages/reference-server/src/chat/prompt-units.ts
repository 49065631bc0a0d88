import { type PromptUnit, unitsIn } from "../cache/prompt.ts";
import { invalidValue, type Refusal, unsupportedParameter } from "../refusals.ts";
import { isArray, isObject, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import type { ChatServerDialect } from "./dialects.ts";
import { tooManyMarks } from "./refusals.ts";

/** How a server's breakpoints are written: the member of a part, and the lifetimes that one may name. */
interface Marks {
  readonly name: string;
  readonly unnamed: string;
  readonly ttls: readonly string[];
  readonly fixed: readonly [name: string, value: string];
  /** A request with more is rejected; of OpenAI's, the latest count. */
  readonly most: number;
}

const openai: Marks = {
  ...{ name: "prompt_cache_breakpoint", unnamed: "default", ttls: ["30m", "12h"], fixed: ["mode", "explicit"] },
  most: Number.POSITIVE_INFINITY,
};

const anthropic: Marks = {
  ...{ name: "cache_control", unnamed: "5m", ttls: ["5m", "1h"], fixed: ["type", "ephemeral"], most: 4 },
};

/** Other servers ignore breakpoints. */
const marksOf: Readonly<Partial<Record<ChatServerDialect, Marks>>> = { openai, openrouter: anthropic };

/** The units of a prompt: tools, then messages. A breakpoint counts on the last part only: this server compares messages as a whole. */
export function promptUnits(body: JsonObject, dialect: ChatServerDialect): readonly PromptUnit[] {
  const messages = objectsOf(body["messages"]);
  const marks = marksOf[dialect];
  const said = unitsIn(
    "message",
    "messages",
    messages.map((message) => unmarked(message, marks)),
  );
  return [
    ...unitsIn("tool", "tools", objectsOf(body["tools"])),
    ...said.map((unit, at) => ({
      ...unit,
      by: speakers.get(stringOf(messages[at]?.["role"]) ?? ""),
      breakpoint:
        breakpointOf(messages[at], marks) ?? (at === messages.length - 1 ? automatic(body, marks) : undefined),
    })),
  ];
}

const speakers: ReadonlyMap<string, PromptUnit["by"]> = new Map([
  ...[["user", "user"] as const, ["tool", "result"] as const],
  ...[["system", "developer"] as const, ["developer", "developer"] as const],
]);

/** What is wrong with the breakpoints of a request, or that the model takes none. */
export function checkMarks(
  messages: readonly JsonObject[],
  {
    dialect,
    unsupported = [],
  }: { readonly dialect: ChatServerDialect; readonly unsupported?: readonly string[] | undefined },
): Refusal | undefined {
  const marks = marksOf[dialect];
  if (marks === undefined) return undefined;
  const { name, ttls, fixed, most } = marks;
  let count = 0;
  for (const [at, { role, content }] of messages.entries())
    for (const [index, part] of objectsOf(content).entries()) {
      const mark = part[name];
      if (mark === undefined || mark === null) continue;
      const path = `messages[${at}].content[${index}].${name}`;
      if (unsupported.includes(name) || role === "assistant") return unsupportedParameter(path);
      const given = isObject(mark) ? mark : {};
      const value = stringOf(given[fixed[0]]) ?? "";
      if (value !== fixed[1]) return invalidValue(`${path}.${fixed[0]}`, value, [fixed[1]]);
      const ttl = given["ttl"] ?? ttls[0];
      if (typeof ttl !== "string" || !ttls.includes(ttl)) return invalidValue(`${path}.ttl`, stringOf(ttl) ?? "", ttls);
      count += 1;
    }
  return count > most ? tooManyMarks(dialect, count) : undefined;
}

function breakpointOf(message: JsonObject | undefined, marks: Marks | undefined): string | undefined {
  const mark = marks === undefined ? undefined : objectsOf(message?.["content"]).at(-1)?.[marks.name];
  return isObject(mark) ? (stringOf(mark["ttl"]) ?? marks?.unnamed) : undefined;
}

/** A breakpoint of the request as a whole is on its last message. */
function automatic(body: JsonObject, marks: Marks | undefined): string | undefined {
  const mark = marks === anthropic ? body[marks.name] : undefined;
  return isObject(mark) ? (stringOf(mark["ttl"]) ?? anthropic.unnamed) : undefined;
}

/** The message as the model reads it: without breakpoints, and a single text as a text, because a breakpoint needs a part. */
function unmarked(message: JsonObject, marks: Marks | undefined): JsonObject {
  if (marks === undefined || !isArray(message["content"])) return message;
  const parts = objectsOf(message["content"]).map(({ [marks.name]: _, ...part }) => part);
  const [{ type, text = null, ...others } = {}] = parts;
  const isText = parts.length === 1 && type === "text" && Object.keys(others).length === 0;
  return { ...message, content: isText ? text : parts };
}
