import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "./json.ts";

/**
 * The canonical text of a JSON value: RFC 8785 (members sorted by UTF-16 code units, numbers and strings as ECMAScript prints
 * them). A lone surrogate is written as its `\uXXXX` escape, as `JSON.stringify` does, so that the text always has a UTF-8 form. A
 * number that JavaScript would change keeps its text. Members that are `undefined` are absent.
 */
export function canonicalJson(value: JsonValue): string {
  // One call for the whole value is twice as fast as one for each string.
  const sorted = withSortedMembers(value);
  return sorted === undefined ? canonicalText(value) : JSON.stringify(sorted);
}

/** The value with its members in canonical order; undefined if an object cannot have that order. */
function withSortedMembers(value: JsonValue): JsonValue | undefined {
  if (isJsonList(value)) {
    const items: JsonValue[] = [];
    for (const item of value) {
      const sorted = withSortedMembers(item);
      if (sorted === undefined) return undefined;
      items.push(sorted);
    }
    return items;
  }
  return isJsonObject(value) ? objectWithSortedMembers(value) : value;
}

function objectWithSortedMembers(object: JsonObject): JsonObject | undefined {
  const sorted: Record<string, JsonValue> = {};
  for (const name of Object.keys(object).sort()) {
    // An object always lists integer names first, in ascending order.
    if (/^\d/.test(name)) return undefined;
    const member = object[name];
    if (member === undefined) continue;
    const value = withSortedMembers(member);
    if (value === undefined) return undefined;
    setMember(sorted, name, value);
  }
  return sorted;
}

function canonicalText(value: JsonValue): string {
  if (isJsonList(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members: string[] = [];
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalText(member)}`);
  }
  return `{${members.join(",")}}`;
}
