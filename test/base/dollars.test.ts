import * as fc from "fast-check";
import { expect, test } from "vitest";
import { dollarText, parseDollars } from "../../src/base/dollars.ts";
import { cases } from "../support/cases.ts";

test.each<[string, bigint]>([
  ["0.025265", 25_265_000_000n],
  ["5", 5_000_000_000_000n],
  ["1.25e-06", 1_250_000n],
  ["2E+1", 20_000_000_000_000n],
  ["0.0000000000005", 1n],
  ["0.00000000000049", 0n],
])("%s dollars are %s of 10⁻¹²", (text, amount) => {
  expect(parseDollars(text)).toBe(amount);
});

test.each(["", "-1", "1.", ".5", "1e", "NaN", "Infinity", "1,5", "$1", " 1", "0x1"])("%j is no amount", (text) => {
  expect(parseDollars(text)).toBeNull();
});

test("an amount is written without an exponent, and reads as it was", () => {
  expect(dollarText(25_265_000_000n)).toBe("0.025265");
  expect(dollarText(0n)).toBe("0");
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), (amount) => {
      expect(dollarText(amount)).toMatch(/^\d+(\.\d*[1-9])?$/);
      expect(parseDollars(dollarText(amount))).toBe(amount);
    }),
    { numRuns: cases(300, 100_000) },
  );
});
