import type { JsonValue } from "../../../src/base/json.ts";

/** Every string of a JSON value, names of members included, members in the order of their names. */
export function stringsOf(value: JsonValue | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([name, member]: [string, JsonValue | undefined]) => [name, ...stringsOf(member)]);
}
