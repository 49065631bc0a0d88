import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";

/** An answer as a server might say it that is less strict than its documentation, and what is otherwise in it. */
export type UntidyAnswer = { readonly how: string; readonly answer: JsonObject };

/**
 * An answer with each of its members left out, null and empty in turn, with its numbers as texts, and with a member in each object that no
 * client knows.
 */
export function* untidied(answer: JsonObject): Generator<UntidyAnswer> {
  for (const { path, value } of membersOf(answer, [])) {
    // What stands in a list is there, or the list is shorter.
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
