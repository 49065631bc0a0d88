import type fc from "fast-check";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Block } from "../../../src/domain/block.ts";
import { user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { groupsOf } from "../../../src/engine/planning/groups.ts";
import type { ShapeOptions } from "../../../src/engine/planning/shape.ts";
import { entersTurn } from "../../../src/projections/client-turn/apply-to-turns.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { type Step, steps } from "./arbitrary-exchanges.ts";
import { freshBlockId, scope } from "./exchange.ts";
import { answeredCalls, edited } from "./random-turns.ts";

/** Turns as random conversations leave them, without a server: their responses are numbered. */
export const turns: fc.Arbitrary<Turn> = steps.map(turnOf);

/** Where in a Turn a response ends, so that a server may hold everything up to there, and where its output begins. */
export function boundariesOf(turn: Turn): readonly { readonly from: number; readonly heldFrom: number }[] {
  return [...groupsOf(turn.blocks, 0, { codec: responsesCodec, scope })]
    .filter(({ isIntact }) => isIntact)
    .map(({ members }) => {
      const heldFrom = members[0]?.index ?? 0;
      return { heldFrom, from: heldFrom + members.length };
    });
}

export const fullRequest: ShapeOptions = {
  scope,
  codec: responsesCodec,
  itemIds: true,
  quarantined: new Set(),
  heldFrom: 0,
  settings: {},
};

type Answer = Extract<Step, { readonly do: "request" }>;

function turnOf(script: readonly Step[]): Turn {
  let turn = Turn.of([user("Hello.").withId(freshBlockId())]);
  const earlier: Turn[] = [];
  for (const [n, step] of script.entries()) {
    if (step.do === "edit") turn = edited(turn, step.edit);
    else if (step.do === "answer-calls") turn = answeredCalls(turn, step);
    else if (step.do === "go-back") turn = earlier[step.to % Math.max(1, earlier.length)] ?? turn;
    else {
      earlier.push(turn);
      turn = turn.concat(blocksOf(step, n));
    }
  }
  return turn;
}

function blocksOf({ answer, options }: Answer, n: number): readonly Block[] {
  const { output } = answer;
  const isPartial = answer.status === "incomplete";
  const blocks = output.map(({ item, isEncrypted }, index) => {
    const group = { id: `inf_${n}`, index, size: output.length, stored: options.store };
    const sealed = isEncrypted && options.encrypted ? { encrypted_content: `sealed ${n} ${index}` } : {};
    const received: JsonObject = { id: `item_${n}_${index}`, call_id: `call_${n}_${index}`, ...item, ...sealed };
    const wire = { scope, group, ...(isPartial ? { partial: true as const } : {}) };
    return responsesCodec.decodeItem(received, wire).withId(freshBlockId());
  });
  return blocks.filter(entersTurn);
}
