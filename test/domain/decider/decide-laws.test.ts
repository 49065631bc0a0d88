import fc from "fast-check";
import { expect, test } from "vitest";
import { decide } from "../../../src/domain/decider/decide.ts";
import { AppendDraft, noConversationFacts } from "../../../src/domain/decider/draft.ts";
import type { ProposedEvent } from "../../../src/domain/events/recorded.ts";
import { proposals, runId } from "../../support/domain/conversation-builders.ts";

type Proposed = ProposedEvent["event"];

// What permits an effect is refused the second time; a run's end permits what comes after it. An edit is told apart by its
// frame, which the envelope has: repeating an append is the prepared append's affair.
const permits = new Set<Proposed["type"]>(["RunStarted", "InferenceRequested", "ToolStarted", "RunCompleted"]);
const facts = Object.values(proposals).filter(({ type }) => !permits.has(type) && type !== "TurnEdited");

test("after its own events an event that states a fact does nothing, and one that permits an effect is refused", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...Object.values(proposals)), { maxLength: 30 }), (script) => {
      const draft = new AppendDraft(noConversationFacts);
      for (const proposed of script) {
        const result = decide(draft, proposed, runId);
        if (!result.ok) continue;
        for (const event of result.value) draft.take(event, runId);
        const again = decide(draft, proposed, runId);
        if (permits.has(proposed.type)) expect(again.ok).toBe(false);
        else if (facts.includes(proposed)) expect(again).toEqual({ ok: true, value: [] });
      }
    }),
    { numRuns: 300 },
  );
});

test("a draft above others answers as one of all events would, and changes nothing below it", () => {
  const scripts = fc.array(fc.constantFrom(...Object.values(proposals)), { maxLength: 12 });
  fc.assert(
    fc.property(scripts, scripts, scripts, (before, tried, other) => {
      const [below, whole] = [new AppendDraft(noConversationFacts), new AppendDraft(noConversationFacts)];
      expect(play(below, before)).toEqual(play(whole, before));
      play(new AppendDraft(below), other);
      expect(play(new AppendDraft(below), tried)).toEqual(play(whole, tried));
    }),
    { numRuns: 300 },
  );
});

/** Decides the events one after another on a draft, which takes those to record. */
function play(draft: AppendDraft, script: readonly Proposed[]): readonly unknown[] {
  return script.map((proposed) => {
    const result = decide(draft, proposed, runId);
    if (result.ok) for (const event of result.value) draft.take(event, runId);
    return result;
  });
}
