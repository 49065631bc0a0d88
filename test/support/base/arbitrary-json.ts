import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../src/base/json.ts";

/** Names that collide with what objects inherit, with what differences are made of, and with each other by order. */
const memberName = fc.oneof(
  fc.constantFrom(
    "__proto__",
    "constructor",
    "toString",
    "set",
    "drop",
    "in",
    "at",
    "to",
    "order",
    "type",
    "id",
    "1",
    "10",
    "2",
    "",
  ),
  fc.string({ unit: "binary", maxLength: 4 }),
);

/** Any JSON value: lone surrogates, `__proto__` members, nulls and empties included. */
export const jsonValue: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<JsonValue>(null, true, false, 0, "", "text"),
    fc.string({ unit: "binary", maxLength: 6 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => parsed(JSON.stringify(number))),
    fc.array(tie("value"), { maxLength: 4 }),
    objectOf(tie("value")),
  ),
})).value;

export const jsonObject: fc.Arbitrary<JsonObject> = objectOf(jsonValue);

/** An object as JSON.parse makes it: `__proto__` is a member like others. */
function objectOf(member: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> {
  return fc.uniqueArray(fc.tuple(memberName, member), { maxLength: 5, selector: ([name]) => name }).map((members) => {
    const text = members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",");
    const object = parsed(`{${text}}`);
    return isJsonObject(object) ? object : {};
  });
}

/** As whatever comes from outside is read. */
export const parsed = parseJson;
