import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/base/canonical-json.ts";
import type { JsonValue } from "../../src/base/json.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import { jsonValue, parsed } from "../support/base/arbitrary-json.ts";

describe("canonical JSON", () => {
  test("is that of RFC 8785, section 3.2.2: numbers, escapes and literals", () => {
    const text = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`;
    const expected = String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`;
    // As doubles, which is what that section is about; JSON.parse makes nothing but JSON values.
    expect(canonicalJson(JSON.parse(text) as JsonValue)).toBe(expected);
  });

  test("sorts members by UTF-16 code units, RFC 8785 section 3.2.3", () => {
    const text = String.raw`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`;
    const names = [
      "Carriage Return",
      "One",
      "Control",
      "Latin Small Letter O With Diaeresis",
      "Euro Sign",
      "Emoji: Grinning Face",
      "Hebrew Letter Dalet With Dagesh",
    ];
    expect(canonicalJson(parsed(text)).match(/(?<=:")[^"]+/g)).toEqual(names);
  });

  test.each([
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["4340000000000000", "9007199254740992"],
    ["4430000000000000", "295147905179352830000"],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef50", "1e+21"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
  ])("prints the number %s as %s, RFC 8785 appendix B", (bits, expected) => {
    expect(canonicalJson(Buffer.from(bits, "hex").readDoubleBE())).toBe(expected);
  });

  test("escapes lone surrogates, so that every text has a UTF-8 form", () => {
    const text = canonicalJson({ "\udead": "a\ud800b" });
    expect(text).toBe(String.raw`{"\udead":"a\ud800b"}`);
    expect(sha256Hex(text)).toBe(sha256Hex(Buffer.from(text, "utf8").toString("utf8")));
  });

  test("keeps a member called __proto__", () => {
    expect(canonicalJson(parsed('{"b":1,"__proto__":{"a":2}}'))).toBe('{"__proto__":{"a":2},"b":1}');
  });

  test("leaves out members that are undefined", () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  test("is JSON for the same value, and a fixed point", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const read = parsed(canonicalJson(value));
        expect(read).toEqual(parsed(JSON.stringify(value)));
        expect(canonicalJson(read)).toBe(canonicalJson(value));
      }),
      { numRuns: 1000 },
    );
  });
});
