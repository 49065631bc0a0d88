import fc from "fast-check";
import { expect, test } from "vitest";
import { assistant, system, user } from "../../src/domain/make-block.ts";
import { Turn } from "../../src/domain/turn.ts";

const makers = { system, user, assistant };
const kinds = Object.keys(makers).filter((kind): kind is keyof typeof makers => kind in makers);

test("an exchange is a user's block and what follows it; what comes before the first belongs to none", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...kinds)), (said) => {
      const turn = Turn.of(said.map((kind, index) => makers[kind](`${index}`)));
      const { exchanges } = turn;
      expect(exchanges.map(({ start }) => start)).toEqual(
        said.flatMap((kind, index) => (kind === "user" ? [index] : [])),
      );
      const preamble = turn.blocks.slice(0, exchanges[0]?.start ?? turn.length);
      expect([...preamble, ...exchanges.flatMap(({ blocks }) => blocks)]).toEqual(turn.blocks);
      for (const { start, end, blocks } of exchanges) expect(blocks).toEqual(turn.blocks.slice(start, end));
    }),
  );
});

test("exchanges are counted from 0, and from the end", () => {
  const turn = Turn.of([user("one"), assistant("1"), user("two")]);
  expect([turn.exchange(0), turn.exchange(-1), turn.exchange(2)].map((each) => each?.blocks[0]?.text)).toEqual([
    "one",
    "two",
    undefined,
  ]);
});

test("exchanges and their blocks are listed once, and no block is copied", () => {
  const turn = Turn.of([user("one"), assistant("1")]);
  expect(turn.exchanges).toBe(turn.exchanges);
  expect(turn.exchange(0)?.blocks).toBe(turn.exchange(0)?.blocks);
  expect(turn.exchange(0)?.blocks[1]).toBe(turn.at(1));
});
