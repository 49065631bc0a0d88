/** Edits of the texts in blocks. A text that is JSON is edited by what its strings say, and stays JSON. */
import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import type { Block } from "../domain/block.ts";

/** Puts a text in place of the characters from `start` to `end`. */
export type TextEdit = { readonly start: number; readonly end: number; readonly text: string };

/** The edits of a plain text, in order and without overlaps. */
export type EditText = (plain: string) => readonly TextEdit[];

/** Edits every text in a block; the same block if there was nothing to edit. */
export function editBlock(block: Block, edit: EditText): Block {
  const member = memberOf(block);
  if (member === null) return block;
  const { payload } = block;
  const given = member === "payload" ? payload : payload[member];
  if (given === undefined) return block;
  const edited = editJson(given, edit);
  if (edited === given) return block;
  return block.withPayload(member === "payload" && isJsonObject(edited) ? edited : { ...payload, [member]: edited });
}

/** The part of a payload that people or tools wrote. Other members are names and ids that belong to the wire. */
function memberOf({ kind, wire, isErased }: Block): "arguments" | "output" | "content" | "payload" | null {
  if (isErased) return null;
  switch (kind) {
    case "tool_call":
      return "arguments";
    case "tool_result":
      return "output";
    case "reasoning":
      return null;
    case "other":
      // An item that a server made is given back verbatim.
      return wire === null ? "payload" : null;
    default:
      return "content";
  }
}

/** Members of content parts that name something, or hold bytes. */
const notTexts: ReadonlySet<string> = new Set(["type", "id", "callId", "fileId", "data", "format", "detail"]);

function editJson(value: JsonValue, edit: EditText): JsonValue {
  if (typeof value === "string") return value.startsWith("data:") ? value : editText(value, edit);
  if (isJsonList(value)) {
    const edited = value.map((each) => editJson(each, edit));
    return edited.every((each, index) => each === value[index]) ? value : edited;
  }
  return isJsonObject(value) ? editObject(value, edit) : value;
}

function editObject(value: JsonObject, edit: EditText): JsonObject {
  const entries = Object.entries(value).map(
    ([name, each]) => [name, each === undefined || notTexts.has(name) ? each : editJson(each, edit)] as const,
  );
  return entries.every(([name, each]) => each === value[name]) ? value : Object.fromEntries(entries);
}

/** Edits a text; in JSON, each string and number by itself. */
export const editText = (text: string, edit: EditText): string => applied(text, editsOf(text, edit));

function editsOf(text: string, edit: EditText): readonly TextEdit[] {
  return isJsonText(text) ? editsOfJson(text, edit) : edit(text);
}

function isJsonText(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function editsOfJson(json: string, edit: EditText): readonly TextEdit[] {
  const edits: TextEdit[] = [];
  for (const { 0: token, index } of json.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token.startsWith('"')) {
      for (const { start, end, text } of editsOfString(token, edit))
        edits.push({ start: index + start, end: index + end, text });
    } else {
      const inNumber = edit(token);
      // A number with a placeholder in it is no number any more.
      if (inNumber.length > 0)
        edits.push({ start: index, end: index + token.length, text: JSON.stringify(applied(token, inNumber)) });
    }
  }
  return edits;
}

/** The edits of what a JSON string says, at their places in the literal: the rest keeps its escapes. */
function editsOfString(literal: string, edit: EditText): readonly TextEdit[] {
  const said: unknown = JSON.parse(literal);
  const edits = typeof said === "string" ? editsOf(said, edit) : [];
  if (edits.length === 0) return [];
  const places = [1];
  for (const [unit] of literal.slice(1, -1).matchAll(/\\u[\da-fA-F]{4}|\\.|[^\\]/gs))
    places.push((places.at(-1) ?? 1) + unit.length);
  const placeOf = (index: number): number => places[index] ?? literal.length - 1;
  return edits.map(({ start, end, text }) => ({ start: placeOf(start), end: placeOf(end), text: escaped(text) }));
}

/** A text as it is within a JSON string. */
export const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** A text after its edits. */
export function applied(text: string, edits: readonly TextEdit[]): string {
  if (edits.length === 0) return text;
  let [result, at] = ["", 0];
  for (const { start, end, text: other } of edits) {
    result += text.slice(at, start) + other;
    at = end;
  }
  return result + text.slice(at);
}
