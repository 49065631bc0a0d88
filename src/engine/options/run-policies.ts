import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { RecordedBudget } from "./budget.ts";
import type { RecordedPolicy } from "./chain-policy.ts";
import { defaultCompactPolicy, type RecordedCompactPolicy } from "./compact-policy.ts";

/** The policies that a run began with; it keeps them when another engine resumes or replays it. */
export const policiesOf = ({ chain, budget, compact }: ConversationEventOf<"RunStarted">["data"]): RunPolicies => ({
  chain,
  budget: budget ?? null,
  compact: compact ?? defaultCompactPolicy,
});

type RunPolicies = {
  readonly chain: RecordedPolicy;
  readonly budget: RecordedBudget | null;
  readonly compact: RecordedCompactPolicy;
};

/** The policies as they are recorded: defaults are omitted. */
export const recordedPolicies = ({ budget, compact }: RunPolicies) => ({
  ...(budget === null ? {} : { budget }),
  ...(compact === defaultCompactPolicy ? {} : { compact }),
});
