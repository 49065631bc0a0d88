import { type JsonValue, parseJson } from "../base/json.ts";

/** The JSON value that a text spells; undefined when it spells none. */
export function jsonOf(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
