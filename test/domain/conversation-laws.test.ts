import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Command } from "../../src/domain/commands.ts";
import { decide, evolve } from "../../src/domain/conversation.ts";
import { draftState, initialState } from "../../src/domain/conversation-state.ts";
import { commands, runId } from "../support/domain/conversation-builders.ts";

// What permits an effect is refused the second time; a run's end permits what comes after it. An edit is told apart by its
// frame, which the envelope has: repeating an append is the prepared append's affair.
const permits = new Set<Command["type"]>(["StartRun", "RequestInference", "StartTool", "EndRun"]);
const facts = Object.values(commands).filter(({ type }) => !permits.has(type) && type !== "EditTurn");

test("after its own events a command that states a fact does nothing, and one that permits an effect is refused", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...Object.values(commands)), { maxLength: 30 }), (script) => {
      const state = initialState();
      for (const command of script) {
        const result = decide(state, command);
        if (!result.ok) continue;
        for (const event of result.value) evolve(state, event, runId);
        const again = decide(state, command);
        if (permits.has(command.type)) expect(again.ok).toBe(false);
        else if (facts.includes(command)) expect(again).toEqual({ ok: true, value: [] });
      }
    }),
    { numRuns: 300 },
  );
});

describe("a draft of a state", () => {
  test("answers as the state would, and leaves it was", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...Object.values(commands)), { maxLength: 12 }),
        fc.array(fc.constantFrom(...Object.values(commands)), { maxLength: 12 }),
        (before, tried) => {
          const state = initialState();
          play(state, before);
          const same = initialState();
          play(same, before);
          expect(play(draftState(state), tried)).toEqual(play(same, tried));
          const untouched = initialState();
          play(untouched, before);
          expect(state).toEqual(untouched);
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** Decides the commands one after another on a state, which takes what they make happen. */
function play(state: ReturnType<typeof initialState>, script: readonly Command[]): readonly unknown[] {
  return script.map((command) => {
    const result = decide(state, command);
    if (result.ok) for (const event of result.value) evolve(state, event, runId);
    return result;
  });
}
