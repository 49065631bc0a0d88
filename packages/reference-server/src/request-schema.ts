import { checkItems, nameOfType } from "./item-schema.ts";
import {
  belowMinimum,
  emptyInput,
  invalidType,
  missingParameter,
  modelNotFound,
  mutuallyExclusive,
  type Refusal,
  unknownParameter,
} from "./refusals.ts";
import { isArray, isObject, type Json, type JsonObject, stringOf } from "./wire.ts";

/** Top-level fields, from ResponseCreateParams of openai 7.57.0, and `client_metadata`, which the codex client always sends. */
const fields =
  "access_programs background client_metadata context_management conversation image include input instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user".split(
    " ",
  );

const strings = "instructions previous_response_id prompt_cache_key safety_identifier service_tier truncation user";
const booleans = "background parallel_tool_calls store stream";
const objects = "client_metadata metadata moderation prompt prompt_cache_options reasoning stream_options text";
const arrays = "context_management include tools";

/** A rule for each field with a known shape; null counts as absent. */
const shapes: readonly {
  readonly name: string;
  readonly expected: string;
  readonly holds: (value: Json) => boolean;
}[] = [
  ...strings.split(" ").map((name) => ({
    name,
    expected: "a string",
    holds: (value: Json) => typeof value === "string",
  })),
  ...booleans.split(" ").map((name) => ({
    name,
    expected: "a boolean",
    holds: (value: Json) => typeof value === "boolean",
  })),
  ...objects.split(" ").map((name) => ({ name, expected: "an object", holds: isObject })),
  ...arrays.split(" ").map((name) => ({ name, expected: "an array", holds: isArray })),
];

const minima = [
  { name: "max_output_tokens", what: "integer", min: 16 },
  { name: "max_tool_calls", what: "integer", min: 1 },
  { name: "temperature", what: "decimal", min: 0 },
  { name: "top_p", what: "decimal", min: 0 },
] as const;

/** The server settings that affect the shape of a request. */
export interface RequestRules {
  /** Undefined: every model exists. */
  readonly models: readonly string[] | undefined;
  readonly acceptsEmptyInput: boolean;
  /** Instructions may be messages, as with Azure. */
  readonly takesInstructionItems: boolean;
}

/**
 * What is wrong with a body by itself, in the order measured live (2026-08-30): model presence, unknown top-level
 * keys, schema of the input items, schemas of the other fields. State and capabilities are checked later.
 */
export function checkRequest(body: JsonObject, rules: RequestRules): Refusal | undefined {
  const model = body["model"];
  if (model === undefined || model === null) return missingParameter("model");
  if (typeof model !== "string") return invalidType("model", "a string", nameOfType(model));
  return checkFieldNames(body, fields) ?? checkInput(body, rules) ?? checkFields(body, rules);
}

/** The input as a list: a string is one message of the user. */
export function inputOf(body: JsonObject): readonly JsonObject[] {
  const input = body["input"];
  if (typeof input === "string") return [{ role: "user", content: input }];
  return isArray(input) ? input.filter(isObject) : [];
}

/** The text of the instructions, or of their messages; null if there are none. */
export function instructionsOf({ instructions }: JsonObject): string | null {
  if (!isArray(instructions)) return stringOf(instructions) ?? null;
  const textsOf = (content: Json | undefined): readonly string[] =>
    isArray(content) ? content.filter(isObject).map(({ text }) => stringOf(text) ?? "") : [stringOf(content) ?? ""];
  return instructions
    .filter(isObject)
    .map(({ content }) => textsOf(content).join(""))
    .join("\n\n");
}

/** Rejects the first unknown field. */
export function checkFieldNames(body: JsonObject, known: readonly string[]): Refusal | undefined {
  const unknown = Object.keys(body).find((key) => !known.includes(key));
  if (unknown === undefined) return undefined;
  return unknownParameter(
    unknown,
    known.find((name) => distance(unknown, name) <= 2),
  );
}

function checkInput(body: JsonObject, rules: RequestRules): Refusal | undefined {
  const input = body["input"];
  if (input === undefined || input === null) {
    const isContinued = ["previous_response_id", "conversation", "prompt"].some((key) => (body[key] ?? null) !== null);
    if (!isContinued) return missingParameter("input");
    return rules.acceptsEmptyInput ? undefined : emptyInput();
  }
  if (typeof input === "string") return undefined;
  if (!isArray(input)) return invalidType("input", "one of an array of objects or string", nameOfType(input));
  if (input.length === 0 && !rules.acceptsEmptyInput) return emptyInput();
  return checkItems(input);
}

function checkFields(body: JsonObject, rules: RequestRules): Refusal | undefined {
  const model = stringOf(body["model"]) ?? "";
  if (rules.models?.includes(model) === false) return modelNotFound(model);
  for (const { name, expected, holds } of shapes) {
    const value = body[name] ?? null;
    if (name === "instructions" && rules.takesInstructionItems && isArray(value)) {
      const wrong = checkItems(value);
      if (wrong !== undefined) return wrong;
    } else if (value !== null && !holds(value)) return invalidType(name, expected, nameOfType(value));
  }
  for (const { name, what, min } of minima) {
    const value = body[name] ?? null;
    if (value === null) continue;
    if (typeof value !== "number")
      return invalidType(name, what === "integer" ? "an integer" : "a decimal", nameOfType(value));
    if (value < min) return belowMinimum(name, what, { min, actual: value });
  }
  const hasBoth = (body["previous_response_id"] ?? null) !== null && (body["conversation"] ?? null) !== null;
  return checkTools(body["tools"]) ?? (hasBoth ? mutuallyExclusive() : undefined);
}

function checkTools(tools: Json | undefined): Refusal | undefined {
  for (const [index, tool] of (isArray(tools) ? tools : []).entries()) {
    const path = `tools[${index}]`;
    if (!isObject(tool)) return invalidType(path, "an object", nameOfType(tool));
    if (typeof tool["type"] !== "string") return missingParameter(`${path}.type`);
    const isNamed = tool["type"] === "function" || tool["type"] === "custom";
    if (isNamed && typeof tool["name"] !== "string") return missingParameter(`${path}.name`);
  }
  return undefined;
}

/** Levenshtein distance: how many letters must change. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (const [j, other] of Array.from(b).entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
