import type { z } from "zod";
import type { RegressionDocument, regressedConversation } from "../../../src/apps/documents/regression.ts";
import { conversationIdSchema } from "../../../src/domain/ids.ts";

type Regressed = z.infer<typeof regressedConversation>;

const counts = {
  ...{ requests: 8, compared: 8, changed: 1, added: 0, ends: 0, chains: 1, caches: 0, reasoning: 0, unknown: {} },
  ...{ money: null, unpriced: 0 },
};
const culprit: NonNullable<Regressed["first"]> = {
  ...{ name: "shorten-results", version: "1.2.0", how: "left out", runId: "run_1", frame: "0.0", block: 5 },
  isConfirmed: null,
  kind: "layer",
};

/** The report of a comparison that changed one request: without `shorten-results`, that at this revision. */
export function reportText(id: string, revision: number): string {
  const conversation = conversationIdSchema.parse(id);
  const sent = { strategy: "rebased", reason: "diverged", bytes: 1_689, requestDigest: "0".repeat(64) };
  const effect = { breaksChain: true, breaksCache: false, lostReasoning: 0, size: null, kept: null };
  const regressed: Regressed = {
    ...{ conversation, differs: true, ...counts, culprits: [{ name: "shorten-results@1.2.0", requests: 1 }] },
    ...{ first: culprit, message: null },
    differences: [
      {
        ...{ runId: "run_1", frame: "0.0", attempt: 0, revision, isSame: false, readsSame: false, culprit, effect },
        others: [],
        ...{ before: sent, now: { ...sent, strategy: "chained", reason: null, bytes: 1_134 } },
      },
    ],
  };
  const beyond = { conversations: 1, requests: 1, caches: 0, money: null, nondeterministic: 0 };
  const summary: RegressionDocument = {
    ...{
      with: null,
      stack: "./agent.ts",
      without: "shorten-results",
      conversations: 1,
      differing: 1,
      partlyUnknown: 0,
    },
    ...{ ...counts, first: { ...culprit, conversation }, isComplete: true, culprits: [] },
    allowance: { file: null, isWithin: false, allowed: 0, beyond, unused: [] },
    differs: [{ conversation, changed: 1, first: "shorten-results@1.2.0" }],
  };
  const lines = [{ report: "turnlog regress", version: 1 }, regressed, { summary }];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
