import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { compileValidator } from "../../src/base/compile-validator.ts";
import type { JsonValue } from "../../src/base/json.ts";
import { conversationEventSchema } from "../../src/domain/events/event.ts";
import { jsonValue, parsed } from "../support/base/arbitrary-json.ts";
import { cases, isTelling } from "../support/cases.ts";

const schema = z.strictObject({
  text: z.string().min(1),
  count: z.int().nonnegative(),
  size: z.exactOptional(z.int().positive()),
  ratio: z.number(),
  kind: z.enum(["a", "b"]),
  place: z
    .string()
    .regex(/^[0-9a-f]{4}$/)
    .nullable(),
  names: z.record(z.string(), z.string()),
  parts: z.array(z.union([z.literal(true), z.strictObject({ flag: z.boolean() })])).min(1),
  any: z.custom<JsonValue>((value) => value !== undefined),
  one: z.discriminatedUnion("op", [
    z.strictObject({ op: z.literal("x"), n: z.number().int() }),
    z.strictObject({ op: z.literal("y") }),
  ]),
});
const sound = {
  ...{
    text: "t",
    count: 0,
    size: 1,
    ratio: 0.5,
    kind: "a",
    place: "00ff",
    names: { "1": "x" },
    parts: [true, { flag: false }],
    any: null,
  },
  one: { op: "x", n: 1 },
};

describe("a check made of a schema", () => {
  const check = compileValidator(schema);

  test("takes what the schema takes", () => {
    const { size: _, ...withoutSize } = sound;
    const values = [sound, withoutSize, { ...sound, place: null }, { ...sound, one: { op: "y" } }];
    expect(values.filter((value) => !check(value))).toEqual([]);
  });

  test.each([
    ["a member that nobody knows", { ...sound, more: 1 }],
    ["an own __proto__", parsed(`{"__proto__":{},${JSON.stringify(sound).slice(1)}`)],
    ["a member too few", { ...sound, text: undefined }],
    ["a text that is too short", { ...sound, text: "" }],
    ["a negative count", { ...sound, count: -1 }],
    ["a size of zero", { ...sound, size: 0 }],
    ["a count beyond what a number holds", { ...sound, count: 2 ** 53 }],
    ["a fraction", { ...sound, one: { op: "x", n: 0.5 } }],
    ["another word", { ...sound, kind: "c" }],
    ["a text of another pattern", { ...sound, place: "00FF" }],
    ["an empty list", { ...sound, parts: [] }],
    ["a list with something else in it", { ...sound, parts: [true, false] }],
    ["an object for a list", { ...sound, parts: {} }],
    ["an unknown alternative", { ...sound, one: { op: "z" } }],
    ["the members of another alternative", { ...sound, one: { op: "y", n: 1 } }],
    ["a record of something else", { ...sound, names: { "1": 1 } }],
    ["a record with an own __proto__", { ...sound, names: parsed('{"__proto__":"x"}') }],
    ["no object", [sound]],
  ])("refuses %s", (_, value) => {
    expect(check(value)).toBe(false);
  });

  test.each([
    ["changes what it reads", z.strictObject({ a: z.string().trim() })],
    ["fills in what is missing", z.strictObject({ a: z.string().default("x") })],
    ["drops what it does not know", z.object({ a: z.string() })],
    ["looks at the whole", z.strictObject({ a: z.string() }).refine(() => false)],
    ["is of a format", z.strictObject({ a: z.email() })],
    ["asks for names", z.record(z.string().min(2), z.string())],
  ])("refuses everything for a schema that %s: it has no rule for it", (_, other) => {
    expect(compileValidator<unknown>(other)({ a: "x" })).toBe(false);
  });
});

const folder = join(import.meta.dirname, "../golden/events");
const golden: readonly JsonValue[] = readdirSync(folder).map((name) =>
  parsed(readFileSync(join(folder, name), "utf8")),
);

describe("the check of events", () => {
  const check = compileValidator(conversationEventSchema);

  test("takes the events of which there are many", () => {
    const types: readonly unknown[] = golden.filter(check).map((event) => event.type);
    const many =
      "BlockAppended RunStarted TurnEdited InferenceRequested ResponseReceived ToolStarted ToolFinished RunCompleted";
    expect(many.split(" ").filter((type) => !types.includes(type))).toEqual([]);
  });

  test("takes nothing that the schema refuses, and nothing that it would change", () => {
    const changed = fc.tuple(fc.constantFrom(...golden), fc.nat(), jsonValue, fc.constantFrom("set", "drop", "add"));
    let taken = 0;
    fc.assert(
      fc.property(changed, ([event, place, value, how]) => {
        const other = changeAt(event, place, { value, how });
        if (!check(other)) return;
        taken += 1;
        expect(conversationEventSchema.parse(other)).toEqual(other);
      }),
      { numRuns: cases(1_700, 100_000, 5_000) },
    );
    if (isTelling) expect(taken).toBeGreaterThan(100);
  });
});

type Change = { readonly value: JsonValue; readonly how: string };

/** Changes one member, drops it or adds one beside it: the n-th of all members, however deep. */
function changeAt(root: JsonValue, place: number, { value, how }: Change): JsonValue {
  const copy = parsed(JSON.stringify(root));
  const members: { readonly holder: Record<string, unknown>; readonly name: string }[] = [];
  const visit = (item: unknown): void => {
    if (typeof item !== "object" || item === null) return;
    for (const [name, member] of Object.entries(item)) {
      // Entries come from this object or list.
      members.push({ holder: item as Record<string, unknown>, name });
      visit(member);
    }
  };
  visit(copy);
  const member = members[place % members.length];
  if (member === undefined) return copy;
  const { holder, name } = member;
  if (how === "set") holder[name] = value;
  else if (how === "add" && !Array.isArray(holder)) holder[`${name}s`] = value;
  else if (Array.isArray(holder)) holder.splice(Number(name), 1);
  else Reflect.deleteProperty(holder, name);
  return copy;
}
