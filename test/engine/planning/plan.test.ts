import { describe, expect, test } from "vitest";
import { Turn } from "../../../src/domain/turn.ts";
import { defaultChainPolicy } from "../../../src/engine/options/chain-policy.ts";
import { plan } from "../../../src/engine/planning/plan.ts";
import { defaultCapabilities } from "../../../src/providers/settings/capabilities.ts";
import { said } from "../../support/domain/turn-builders.ts";
import { now } from "../../support/planning/exchange.ts";
import { asked, holding, replied, settingsOf, thought } from "../../support/planning/plan-builders.ts";

/** One question, its answer, and the next question. */
const first = Turn.of([said(1), replied(2)]);
const second = first.append(said(3));
/** And its answer, and the question after that. */
const third = second.append(replied(4));
const fourth = third.append(said(5));

const minute = 60_000;
const later = (ms: number): string => new Date(Date.parse(now) + ms).toISOString();

describe("a request is chained", () => {
  test("from the newest context when that is a prefix of the Turn", () => {
    const decision = plan(asked(fourth, { contexts: [holding(first, 2), holding(third, 4)] }));
    expect(decision).toMatchObject({ strategy: "chained", reason: null, sendFrom: 4, back: 0, rejected: null });
    expect(decision.anchor).toEqual({ kind: "response", id: "resp_4", inferenceId: "inf_4", length: 4 });
  });

  test("with nothing to send only where the endpoint takes an empty input", () => {
    const known = { contexts: [holding(first, 2)] };
    const capabilities = { ...defaultCapabilities, emptyInput: true };
    expect(plan(asked(first, known))).toMatchObject({ strategy: "full", reason: "illegal-continuation" });
    expect(plan(asked(first, known, { capabilities }))).toMatchObject({ strategy: "chained", sendFrom: 2 });
  });

  test("and says what changed of the settings", () => {
    const decision = plan(
      asked(second, { contexts: [holding(first, 2)] }, { settings: { model: "m", instructions: "brief" } }),
    );
    expect(decision).toMatchObject({ strategy: "chained", changedSettings: ["instructions"] });
  });
});

describe("a request is full", () => {
  const known = { contexts: [holding(first, 2)], newestTurn: first };

  test("because it is the first one of this endpoint", () => {
    const elsewhere = { contexts: [holding(first, 2, { scope: "elsewhere" })] };
    expect(plan(asked(second)).reason).toBe("first-request");
    expect(plan(asked(second, elsewhere))).toMatchObject({ strategy: "full", reason: "first-request", rejected: null });
  });

  test("because no context is a prefix of the Turn", () => {
    const edited = Turn.of([said(1, "edited"), replied(2), said(3)]);
    expect(plan(asked(edited, known))).toMatchObject({
      strategy: "full",
      reason: "no-anchor",
      sendFrom: 0,
      anchor: null,
    });
  });

  test("because the provider cannot chain", () => {
    const capabilities = { ...defaultCapabilities, chain: false };
    expect(plan(asked(second, known, { capabilities }))).toMatchObject({
      reason: "provider-cannot-chain",
      rejected: { anchor: { kind: "response", id: "resp_2" }, reason: "provider-cannot-chain", divergence: null },
    });
  });

  test("because the response is older than the policy allows, by the recorded time", () => {
    const policy = { ...defaultChainPolicy, maxAgeMs: minute };
    const at = (ms: number) => plan(asked(second, known, { policy, now: later(ms) }));
    expect(at(minute)).toMatchObject({ strategy: "chained", now: later(minute) });
    expect(at(minute + 1)).toMatchObject({ strategy: "full", reason: "expired", rejected: { reason: "expired" } });
  });

  test("because the response is dated in the future: a clock has jumped, and its age is unknown", () => {
    const at = (ms: number) => plan(asked(second, known, { now: later(ms) }));
    expect(at(-minute)).toMatchObject({ strategy: "chained" });
    expect(at(-minute - 1)).toMatchObject({ strategy: "full", reason: "expired", rejected: { reason: "expired" } });
  });

  test("because the server refused to continue, or is known to have lost the response", () => {
    const invalid = { resp_2: { reason: "not-found", revision: 9 } };
    expect(plan(asked(second, known, { full: "refused" })).reason).toBe("refused");
    expect(plan(asked(second, { ...known, invalid })).reason).toBe("refused");
  });

  test("because the server said that the response has expired", () => {
    const invalid = { resp_2: { reason: "expired", revision: 9 } };
    expect(plan(asked(second, { ...known, invalid })).reason).toBe("expired");
  });

  test("because the policy sends a changed setting in full", () => {
    const policy = { ...defaultChainPolicy, onSettingsChange: { instructions: "full" as const } };
    const changed = { settings: { model: "m", instructions: "brief" }, policy };
    expect(plan(asked(second, known, changed))).toMatchObject({ strategy: "full", reason: "settings-changed" });
    expect(plan(asked(second, known, { policy })).strategy).toBe("chained");
  });

  test("because the newest answer came without its context, whatever older ones there are", () => {
    const suspect = { contexts: [holding(first, 2), holding(third, 4, { unusable: "suspect" })], newestTurn: third };
    expect(plan(asked(fourth, suspect))).toMatchObject({ strategy: "full", reason: "suspect" });
  });

  test("because the policy never chains", () => {
    const policy = { ...defaultChainPolicy, mode: "stateless" };
    expect(plan(asked(second, known, { policy }))).toMatchObject({ strategy: "full", reason: "policy" });
  });
});

describe("a context is passed over for an older one", () => {
  test.each(["incomplete", "not-stored", "suspect"] as const)("when its response is %s", (unusable) => {
    const contexts = [holding(first, 2), holding(third, 4, { unusable }), holding(Turn.of([said(9), replied(10)]), 10)];
    expect(plan(asked(fourth, { contexts })).anchor?.id).toBe("resp_2");
  });

  test("when its response has no id", () => {
    const contexts = [holding(first, 2), holding(third, 4, { unusable: "no-id" })];
    expect(plan(asked(fourth, { contexts })).anchor?.id).toBe("resp_2");
  });

  test("when it is another endpoint's", () => {
    const contexts = [holding(first, 2), holding(third, 4, { scope: "elsewhere" })];
    expect(plan(asked(fourth, { contexts })).anchor?.id).toBe("resp_2");
  });

  test("when it leaves nothing to send", () => {
    const contexts = [holding(first, 2), holding(third, 4)];
    expect(plan(asked(third, { contexts, newestTurn: third }))).toMatchObject({
      strategy: "rebased",
      reason: "illegal-continuation",
      back: 1,
      sendFrom: 2,
      rejected: { anchor: { kind: "response", id: "resp_4" }, reason: "illegal-continuation", divergence: null },
    });
  });

  test("when it was made in the background ten minutes ago without being stored for good", () => {
    const background = { model: "m", background: true };
    const stored = { ...background, store: true };
    const strategyOf = (settings: typeof background, ms: number) => {
      const contexts = [holding(first, 2, settingsOf(settings))];
      return plan(asked(second, { contexts, settings: [settings] }, { settings, now: later(ms) })).strategy;
    };
    expect(strategyOf(background, 10 * minute)).toBe("chained");
    expect(strategyOf(background, 10 * minute + 1)).toBe("full");
    expect(strategyOf(stored, 11 * minute)).toBe("chained");
  });
});

describe("a change of model", () => {
  const context = Turn.of([said(1), ...thought(2)]);
  const turn = context.append(said(5));
  const known = { contexts: [holding(context, 2, { output: 2 })] };

  test("sends everything where the context holds reasoning", () => {
    expect(plan(asked(turn, known, { settings: { model: "n" } }))).toMatchObject({
      strategy: "full",
      reason: "settings-changed",
    });
  });

  test("chains where it holds none, or where the policy says so", () => {
    const policy = { ...defaultChainPolicy, onSettingsChange: { model: "chain" as const } };
    expect(plan(asked(turn, known, { settings: { model: "n" }, policy })).strategy).toBe("chained");
    const plain = { contexts: [holding(first, 2)] };
    expect(plan(asked(second, plain, { settings: { model: "n" } })).strategy).toBe("chained");
    const thoughtSince = second.append(...thought(6), said(8));
    expect(plan(asked(thoughtSince, plain, { settings: { model: "n" } })).strategy).toBe("chained");
  });
});

describe("of responses with one context", () => {
  const twins = [holding(first, 2), holding(first, 7, { responseId: "resp_7", inferenceId: "inf_7" })];

  test("the one that the Turn's block came from is continued", () => {
    const other = Turn.of([
      said(1),
      replied(2, "answer 2").withWire({
        scope: "test endpoint",
        group: { id: "inf_7", index: 0, size: 1, stored: true },
      }),
      said(3),
    ]);
    expect(plan(asked(second, { contexts: twins })).anchor?.id).toBe("resp_2");
    expect(plan(asked(other, { contexts: twins }))).toMatchObject({
      strategy: "chained",
      anchor: { id: "resp_7" },
    });
  });

  test("the newest is continued where the block came from none of them", () => {
    const typed = Turn.of([said(1), replied(2).withWire(null), said(3)]);
    const unlogged = twins.map((context) => ({ ...context, index: Number.MAX_SAFE_INTEGER }));
    expect(plan(asked(typed, { contexts: twins })).anchor?.id).toBe("resp_7");
    expect(plan(asked(typed, { contexts: unlogged })).anchor?.id).toBe("resp_7");
  });

  test("the other one serves where the first cannot", () => {
    const invalid = { resp_2: { reason: "not-found", revision: 9 } };
    expect(plan(asked(second, { contexts: twins, invalid })).anchor?.id).toBe("resp_7");
  });
});

describe("what a rebased request gives up", () => {
  test("counts the ancestors of the newest context, not their siblings", () => {
    const fifth = fourth.append(replied(6));
    const siblings = [holding(third, 4), holding(third, 8, { responseId: "resp_8", inferenceId: "inf_8" })];
    const contexts = [holding(first, 2), ...siblings, holding(fifth, 6)];
    const edited = first.append(said(3, "edited"));
    expect(plan(asked(edited, { contexts, newestTurn: fifth }))).toMatchObject({
      strategy: "rebased",
      back: 2,
      sendFrom: 2,
    });
  });

  test("counts from where the lines part when the anchor is on a line of its own", () => {
    const other = first.append(said(7), replied(8));
    const contexts = [holding(first, 2), holding(third, 4), holding(other, 8)];
    const decision = plan(asked(fourth, { contexts, newestTurn: other }));
    expect(decision).toMatchObject({ strategy: "rebased", back: 1, anchor: { id: "resp_4" } });
  });
});

describe("with the newest response as the only candidate", () => {
  const contexts = [holding(first, 2), holding(third, 4)];

  test("it is chained from that or full", () => {
    const edited = first.append(said(3, "edited"));
    expect(plan(asked(fourth, { contexts }, { candidates: "newest" })).strategy).toBe("chained");
    expect(plan(asked(edited, { contexts }, { candidates: "newest" }))).toMatchObject({
      strategy: "full",
      reason: "no-anchor",
    });
  });
});
