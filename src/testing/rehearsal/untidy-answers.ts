import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";

/** An answer as a server that is less strict than its documentation might send it, and how it differs. */
export type UntidyAnswer = { readonly how: string; readonly answer: JsonObject };

/**
 * Variants of an answer: with each of its members in turn absent, null and empty, with its numbers as texts, and with an unknown member
 * in each object.
 */
export function* untidied(answer: JsonObject): Generator<UntidyAnswer> {
  for (const { path, value } of membersOf(answer, [])) {
    // An absent list item would only make the list shorter.
    if (typeof path.at(-1) === "number") continue;
    const named = path.join(".");
    const otherwise: readonly (readonly [string, JsonValue | undefined])[] = [
      ["absent", undefined],
      ["null", null],
      ...(typeof value === "string" && value !== "" ? ([["empty", ""]] as const) : []),
      ...(typeof value === "number" ? ([["a text", String(value)]] as const) : []),
      ...(isJsonObject(value) ? ([["with a stranger", { ...value, x_unknown: [null] }]] as const) : []),
    ];
    for (const [how, said] of otherwise)
      yield { how: `${named} is ${how}`, answer: changed(answer, path, said) as JsonObject };
  }
}

type Path = readonly (string | number)[];

function* membersOf(value: JsonValue, at: Path): Generator<{ readonly path: Path; readonly value: JsonValue }> {
  const members: readonly (readonly [string | number, JsonValue | undefined])[] = isJsonList(value)
    ? value.map((each, index) => [index, each] as const)
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  for (const [name, member] of members) {
    if (member === undefined) continue;
    const path = [...at, name];
    yield { path, value: member };
    yield* membersOf(member, path);
  }
}

function changed(value: JsonValue, [name, ...rest]: Path, to: JsonValue | undefined): JsonValue {
  if (name === undefined) return to ?? null;
  const change = (member: JsonValue): JsonValue | undefined => (rest.length === 0 ? to : changed(member, rest, to));
  if (isJsonList(value))
    return value.flatMap((each, index) => {
      const said = index === name ? change(each) : each;
      return said === undefined ? [] : [said];
    });
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, member]) => [key, key === name ? change(member ?? null) : member]);
  return Object.fromEntries(entries.filter(([, member]) => member !== undefined)) as JsonObject;
}
