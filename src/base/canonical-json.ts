import type { JsonValue } from "./json.ts";

/**
 * The canonical text of a JSON value: RFC 8785 (members sorted by UTF-16 code units, numbers and strings as ECMAScript
 * prints them). A lone surrogate is written as its `\uXXXX` escape, as `JSON.stringify` does, so that the text always
 * has a UTF-8 form. Members that are `undefined` are absent.
 */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members: string[] = [];
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalJson(member)}`);
  }
  return `{${members.join(",")}}`;
}

// Array.isArray does not narrow a readonly array out of a union.
const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
