import fc from "fast-check";
import { expect, test } from "vitest";
import { isSha256Hex, sha256Hex } from "../../src/base/sha256.ts";
import { emptyContext } from "../../src/domain/context.ts";

test("a sha256 is recognised by its form, as by the plain rule", () => {
  const character = fc.oneof(
    { weight: 200, arbitrary: fc.nat(15).map((digit) => digit.toString(16)) },
    { weight: 1, arbitrary: fc.constantFrom("A", "g", "/", ":", "`", " ", "\u007f", "\u0080", "\uffff") },
  );
  const texts = fc.array(character, { minLength: 62, maxLength: 66 }).map((characters) => characters.join(""));
  fc.assert(
    fc.property(texts, (text) => {
      expect(isSha256Hex(text)).toBe(/^[0-9a-f]{64}$/.test(text));
    }),
    { numRuns: 2_000 },
  );
  expect(isSha256Hex(sha256Hex("turnlog"))).toBe(true);
});

test("what is no text is no digest", () => {
  for (const value of [null, undefined, 64, Array.from({ length: 64 }, () => "a")]) {
    expect(isSha256Hex(value)).toBe(false);
  }
});

test("the digest of the empty context, which is written out, is that of its name", () => {
  expect(emptyContext).toBe(sha256Hex("turnlog/context/v1"));
});
