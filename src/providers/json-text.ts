import type { JsonValue } from "../base/json.ts";

/** The JSON value that a text spells; undefined when it spells none. */
export function jsonOf(text: string): JsonValue | undefined {
  try {
    // JSON.parse makes nothing but JSON values.
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
