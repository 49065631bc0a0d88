import { expect, test } from "vitest";
import { type BlockId, blockIdSchema } from "../../../src/domain/ids.ts";
import { idInDoubt } from "../../../src/engine/options/doubt.ts";

const id = (n: number): BlockId => blockIdSchema.parse(`run_${"0".repeat(16)}/0/${n}`);
const inDoubt = new Map([
  [id(1), "charge"],
  [id(2), "mail"],
  [id(3), "mail"],
]);

test("a call in doubt is named by its block, or by its tool where that is enough", () => {
  expect(idInDoubt(id(2), inDoubt)).toBe(id(2));
  expect(idInDoubt("charge", inDoubt)).toBe(id(1));
});

test("a tool of which several calls are in doubt does not name one", () => {
  expect(() => idInDoubt("mail", inDoubt)).toThrow(
    new TypeError(`2 calls of 'mail' are in doubt: settle each by its id, ${id(2)}, ${id(3)}`),
  );
});

test.each<[string, ReadonlyMap<BlockId, string>, string]>([
  ["chrage", inDoubt, "'chrage' is not in doubt: did you mean 'charge'?"],
  ["weather", new Map([[id(1), "charge"]]), `'weather' is not in doubt: give 'charge' or '${id(1)}'`],
  ["charge", new Map(), "'charge' is not in doubt: resume the run to see which calls are"],
])("an error about a call that is not in doubt lists those that are (%s)", (wanted, known, message) => {
  const refused = (): unknown => idInDoubt(wanted, known);
  expect(refused).toThrow(expect.objectContaining({ code: "not-in-doubt" }));
  expect(refused).toThrow(message);
});
