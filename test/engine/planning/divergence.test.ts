import { describe, expect, test } from "vitest";
import { Block } from "../../../src/domain/block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { plan } from "../../../src/engine/planning/plan.ts";
import { blockId, said, turnOf } from "../../support/domain/turn-builders.ts";
import { freshBlockId } from "../../support/planning/exchange.ts";
import { asked, holding, replied } from "../../support/planning/plan-builders.ts";

const layer = (name: string) =>
  ({ kind: "middleware", name, version: "1.0.0", frame: "0.0", direction: "request" }) as const;
const [author, remover, mover] = [layer("author"), layer("remover"), layer("mover")];
const actors = { author, remover, mover };

const held = turnOf(1, 2, 3, 4).append(replied(5));
const divergenceOf = (turn: Turn) => {
  const known = { contexts: [holding(held, 5)], newestTurn: held, actors };
  return plan(asked(turn, known)).rejected?.divergence;
};

describe("the first divergence names place, block, kind of change and actor", () => {
  test("of a block that was edited", () => {
    const turn = held.replace(said(2), said(2, "edited")).append(said(6));
    expect(divergenceOf(turn)).toEqual({ index: 1, blockId: blockId(2), change: "edited", actor: author });
  });

  test("of a block that was removed", () => {
    expect(divergenceOf(held.remove(said(3)))).toEqual({
      index: 2,
      blockId: blockId(3),
      change: "removed",
      actor: remover,
    });
  });

  test("of a block that was inserted", () => {
    expect(divergenceOf(held.insert(2, said(9)))).toEqual({
      index: 2,
      blockId: blockId(9),
      change: "inserted",
      actor: author,
    });
  });

  test("of a block that was moved", () => {
    expect(divergenceOf(held.move(said(1), 3))).toEqual({
      index: 0,
      blockId: blockId(1),
      change: "moved",
      actor: mover,
    });
  });

  test("of a Turn that ends before the context does", () => {
    expect(divergenceOf(held.slice(2))).toEqual({ index: 2, blockId: blockId(3), change: "shortened", actor: remover });
  });

  test("of Turns that were read anew and share no objects", () => {
    const turn = Turn.of(held.replace(said(4), said(4, "edited")).blocks.map((block) => new Block(block)));
    expect(divergenceOf(turn)).toMatchObject({ index: 3, change: "edited" });
  });
});

test("a request that continues from the newest context diverges nowhere", () => {
  const known = { contexts: [holding(held, 5)], newestTurn: held, actors };
  expect(plan(asked(held.append(said(6)), known)).rejected).toBeNull();
});

test("planning looks at what is new, and at the anchor's output, and at no block before them", () => {
  const prefix = Array.from({ length: 2000 }, (_, n) => sealable(said(100 + n)));
  const context = Turn.of(prefix.map(({ block }) => block)).append(replied(5));
  const turn = context.append(said(6), said(7));
  const known = { contexts: [holding(context, 5)], newestTurn: context };
  expect(turn.digest).not.toBe(context.digest);
  for (const { seal } of prefix) seal();
  expect(plan(asked(turn, known))).toMatchObject({ strategy: "chained", sendFrom: 2001, repairs: [] });
});

/** A block that fails the test when it is looked at after `seal`; its digest was asked for before, once. */
function sealable(block: Block) {
  let isSealed = false;
  const guarded = new Proxy(block.withId(freshBlockId()), {
    get(target, name) {
      if (isSealed) throw new Error(`planning looked at ${String(name)} of an old block`);
      const value: unknown = Reflect.get(target, name, target);
      return value;
    },
  });
  return {
    block: guarded,
    seal: () => {
      isSealed = true;
    },
  };
}
