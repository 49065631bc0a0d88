import { createHash } from "node:crypto";
import { isArray, isObject, type Json, type JsonObject, parseJson } from "./wire.ts";

/** Draws how one answer is untidy: the same for the same seed and name. */
export interface Untidy {
  /** One item of a non-empty list. */
  pick<T>(list: readonly [T, ...T[]]): T;
}

/** How the answer of this name is untidy; undefined if the server should be tidy. */
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

/** The arguments of a call, as a member of its object. Empty arguments take each form that servers use for them. */
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

/** Token counts as numbers, as texts, as null, or absent. */
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

/** The object with a member set, or without it if the value is undefined. */
export const withMember = (object: JsonObject, name: string, value: Json | undefined): JsonObject => {
  const { [name]: _, ...others } = object;
  return value === undefined ? others : { ...others, [name]: value };
};

/** The object without its id, with a null or empty id, or unchanged. */
export const idSaid = (untidy: Untidy, object: JsonObject, name: string): JsonObject =>
  withMember(
    object,
    name,
    untidy.pick<Json | undefined>([undefined, null, "", object[name] ?? null, object[name] ?? null]),
  );

/** Lines between the events of a stream that carry no data. */
export const noise = (untidy: Untidy | undefined): string =>
  untidy?.pick(["", "event: ping\n\n", "data:\n\n", ": still here\n\n", "event: ping\ndata: \n\n"]) ?? "";

/** The events of a stream as text, with such lines behind each, and how many bytes a client needs to have all events. */
export function withNoise(
  untidy: Untidy | undefined,
  events: readonly string[],
): { readonly text: string; readonly wholeBytes: number } {
  let [text, whole] = ["", ""];
  for (const event of events) {
    whole = text + event;
    text = whole + noise(untidy);
  }
  return { text, wholeBytes: Buffer.byteLength(whole) };
}
