import { createHash } from "node:crypto";
import { isArray, isObject, type Json, type JsonObject, parseJson } from "./wire.ts";

/** Draws how one answer is untidy: the same of one seed and name. */
export interface Untidy {
  /** One of these. */
  pick<T>(list: readonly [T, ...T[]]): T;
}

/** How the answer of this name is untidy; undefined where servers are asked to be tidy. */
export function untidyFor(seed: string | undefined, name: string): Untidy | undefined {
  if (seed === undefined) return undefined;
  let drawn = 0;
  return {
    pick(list) {
      drawn += 1;
      const hash = createHash("sha256").update(`${seed}:${name}:${drawn}`).digest();
      return list[hash.readUInt32BE(0) % list.length] ?? list[0];
    },
  };
}

type Form = "absent" | "null" | "nothing" | "blank" | "object" | "text" | "tidy";

/** What a call is given, as the member of an object that says it: no arguments in each form in which servers say none. */
export function givenSaid(
  untidy: Untidy,
  name: string,
  given: Json | undefined,
  wholes: readonly [Form, ...Form[]],
): JsonObject {
  const text = typeof given === "string" ? given : JSON.stringify(given ?? {});
  const form = untidy.pick<Form>(text === "{}" ? ["absent", "null", "nothing", "blank", "tidy"] : wholes);
  switch (form) {
    case "absent":
      return {};
    case "null":
      return { [name]: null };
    case "nothing":
      return { [name]: "" };
    case "blank":
      return { [name]: " " };
    case "object":
      return { [name]: parseJson(text) };
    case "text":
      return { [name]: text };
    case "tidy":
      return given === undefined ? {} : { [name]: given };
  }
}

/** Counts of tokens: numbers, the same as texts, null, or none at all. */
export function countsSaid(untidy: Untidy, counts: Json | undefined): Json | undefined {
  const form = untidy.pick(["tidy", "texts", "null", "absent"]);
  if (form === "absent") return undefined;
  if (form === "null") return null;
  return form === "texts" ? asTexts(counts ?? null) : counts;
}

function asTexts(value: Json): Json {
  if (typeof value === "number") return String(value);
  if (isArray(value)) return value.map(asTexts);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asTexts(member)]));
}

/** Members that clients do not know, and nulls. */
export const strangersIn = (untidy: Untidy): JsonObject =>
  untidy.pick<JsonObject>([
    {},
    { x_unknown: { deep: [1, null] } },
    { service_tier: null, warning: null },
    { provider: "somebody" },
  ]);

/** The object without a member that is undefined. */
export const withMember = (object: JsonObject, name: string, value: Json | undefined): JsonObject => {
  const { [name]: _, ...others } = object;
  return value === undefined ? others : { ...others, [name]: value };
};

/** Without its id, with one that is null or empty, or as it is. */
export const idSaid = (untidy: Untidy, object: JsonObject, name: string): JsonObject =>
  withMember(
    object,
    name,
    untidy.pick<Json | undefined>([undefined, null, "", object[name] ?? null, object[name] ?? null]),
  );

/** What comes between the events of a stream and says nothing. */
export const noise = (untidy: Untidy | undefined): string =>
  untidy?.pick(["", "event: ping\n\n", "data:\n\n", ": still here\n\n", "event: ping\ndata: \n\n"]) ?? "";
