import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decide } from "../../src/domain/conversation.ts";
import { draftState, evolve, initialState } from "../../src/domain/conversation-state.ts";
import type { ProposedEvent } from "../../src/domain/events/recorded.ts";
import { proposals, runId } from "../support/domain/conversation-builders.ts";

type Proposed = ProposedEvent["event"];

// What permits an effect is refused the second time; a run's end permits what comes after it. An edit is told apart by its
// frame, which the envelope has: repeating an append is the prepared append's affair.
const permits = new Set<Proposed["type"]>(["RunStarted", "InferenceRequested", "ToolStarted", "RunCompleted"]);
const facts = Object.values(proposals).filter(({ type }) => !permits.has(type) && type !== "TurnEdited");

test("after its own events an event that states a fact does nothing, and one that permits an effect is refused", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...Object.values(proposals)), { maxLength: 30 }), (script) => {
      const state = initialState();
      for (const proposed of script) {
        const result = decide(state, proposed, runId);
        if (!result.ok) continue;
        for (const event of result.value) evolve(state, event, runId);
        const again = decide(state, proposed, runId);
        if (permits.has(proposed.type)) expect(again.ok).toBe(false);
        else if (facts.includes(proposed)) expect(again).toEqual({ ok: true, value: [] });
      }
    }),
    { numRuns: 300 },
  );
});

describe("a draft of a state", () => {
  test("answers as the state would, and leaves it was", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...Object.values(proposals)), { maxLength: 12 }),
        fc.array(fc.constantFrom(...Object.values(proposals)), { maxLength: 12 }),
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

/** Decides the events one after another on a state, which takes those to record. */
function play(state: ReturnType<typeof initialState>, script: readonly Proposed[]): readonly unknown[] {
  return script.map((proposed) => {
    const result = decide(state, proposed, runId);
    if (result.ok) for (const event of result.value) evolve(state, event, runId);
    return result;
  });
}
