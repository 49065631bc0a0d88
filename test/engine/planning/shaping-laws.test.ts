import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Block } from "../../../src/domain/block.ts";
import type { Repair } from "../../../src/domain/events/inference-events.ts";
import { user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { shapedBlocks } from "../../../src/engine/planning/build-request.ts";
import { groupsOf } from "../../../src/engine/planning/groups.ts";
import { repairIndexOf } from "../../../src/engine/planning/repairs.ts";
import { shape } from "../../../src/engine/planning/shape.ts";
import type { SentBlock } from "../../../src/engine/ports/codec.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { cases, isTelling } from "../../support/cases.ts";
import { freshBlockId } from "../../support/planning/exchange.ts";
import { boundariesOf, fullRequest, turns } from "../../support/planning/offline-turns.ts";
import { reread } from "../../support/planning/random-turns.ts";
import { inputItems } from "../../support/planning/shape-builders.ts";

const numRuns = cases(130, 20_000, 400);

/** A Turn, and every way in which it may be sent: in full, and behind each response that it holds. */
const ways = (turn: Turn) => [{ from: 0, heldFrom: 0 }, ...boundariesOf(turn)];

const shapedFrom = (turn: Turn, from: number, heldFrom: number): readonly SentBlock[] =>
  shapedBlocks(turn, from, shape(turn, from, { ...fullRequest, heldFrom }), fullRequest);

/** The blocks of a request as a Turn of their own: what goes out without its item id has none. */
function turnOfShaped(prefix: Turn, shaped: readonly SentBlock[]): Turn {
  return prefix.concat(
    shaped.map(({ block, withId }) => {
      if (withId || block.wire?.itemId === undefined) return block.withId(block.id ?? freshBlockId());
      const { itemId: _, ...wire } = block.wire;
      return block.withWire(wire);
    }),
  );
}

describe("shaping", () => {
  test("changes nothing of what was shaped", () => {
    const isIdempotent = fc.property(turns, (turn) => {
      for (const { from, heldFrom } of ways(turn)) {
        const once = shapedFrom(turn, from, heldFrom);
        const twice = shapedFrom(turnOfShaped(turn.slice(from), once), from, heldFrom);
        expect(inputItems(twice)).toEqual(inputItems(once));
      }
    });
    fc.assert(isIdempotent, { numRuns });
    // An earlier call is answered in the middle of a response that begins with a result.
    fc.assert(isIdempotent, { seed: -1_070_302_858, path: "219", numRuns: 1 });
    fc.assert(isIdempotent, { seed: 180_584_955, path: "5322", numRuns: 1 });
  });

  test("changes what was shaped of a prefix only in open calls, an unfinished group or a trigger at its end", () => {
    let stable = 0;
    const isStable = fc.property(turns, fc.nat(), (turn, seed) => {
      for (const { from, heldFrom } of ways(turn)) {
        const groups = [...groupsOf(turn.after(from), from, fullRequest)];
        const length = groups[seed % Math.max(1, groups.length)]?.members[0]?.index ?? turn.length;
        const prefix = turn.slice(length);
        if (prefix.last?.type === "compaction_trigger") continue;
        stable += 1;
        const options = { ...fullRequest, heldFrom };
        const inside = (repairs: readonly Repair[]) =>
          sorted(repairs.filter((repair) => repairIndexOf(repair) < length));
        expect(inside(shape(turn, from, options))).toEqual(inside(shape(prefix, from, options)));
      }
    });
    fc.assert(isStable, { numRuns });
    // A result that answers a call from before the anchor, behind a block that closed the nearer call of its id.
    fc.assert(isStable, { seed: -157_586_410, path: "113", numRuns: 1 });
    if (isTelling) expect(stable).toBeGreaterThan(numRuns);
  });

  test("says the same of the same blocks, whatever objects they are", () => {
    fc.assert(
      fc.property(turns, (turn) => {
        for (const { from, heldFrom } of ways(turn)) {
          const options = { ...fullRequest, heldFrom };
          expect(shape(reread(turn), from, options)).toEqual(shape(turn, from, options));
        }
      }),
      { numRuns },
    );
  });

  test("touches neither the Turn nor what the anchor holds", () => {
    fc.assert(
      fc.property(turns, (turn) => {
        const before = turn.blocks.map((block) => JSON.stringify(block));
        for (const { from, heldFrom } of ways(turn)) {
          const repairs = shape(turn, from, { ...fullRequest, heldFrom });
          shapedBlocks(turn, from, repairs, fullRequest);
          expect(repairs.every((repair) => repairIndexOf(repair) >= from)).toBe(true);
        }
        expect(turn.blocks.map((block) => JSON.stringify(block))).toEqual(before);
      }),
      { numRuns },
    );
  });

  test("looks at nothing before the anchor's output when results and a message follow", () => {
    const prefix = Array.from({ length: 1000 }, () => unreadable());
    const call = (index: number, callId: string): Block =>
      responsesCodec
        .decodeItem(
          { type: "function_call", id: `fc_${index}`, call_id: callId, name: "f", arguments: "{}" },
          { scope: fullRequest.scope, group: { id: "inf_1", index, size: 2, stored: true } },
        )
        .withId(freshBlockId());
    const result = (callId: string): Block =>
      new Block({
        id: freshBlockId(),
        kind: "tool_result",
        payload: { type: "function", callId, output: "done" },
      });
    const turn = Turn.of(prefix).append(
      call(0, "call_a"),
      call(1, "call_b"),
      result("call_b"),
      user("and?").withId(freshBlockId()),
    );
    const repairs = shape(turn, 1002, { ...fullRequest, heldFrom: 1000 });
    expect(repairs).toEqual([{ rule: "answer", index: 1000, detail: { before: 1003, callId: "call_a" } }]);
  });
});

/** A block that nobody may look at. */
const unreadable = (): Block =>
  new Proxy(user("secret").withId(freshBlockId()), {
    get(_, name) {
      throw new Error(`shaping looked at ${String(name)} of a block that the anchor holds`);
    },
  });

const sorted = (repairs: readonly Repair[]): readonly string[] =>
  repairs.map((repair) => JSON.stringify(repair)).sort();
