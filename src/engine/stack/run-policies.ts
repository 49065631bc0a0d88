import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { RecordedBudget } from "./budget.ts";
import type { RecordedPolicy } from "./chain-policy.ts";
import { defaultCompactPolicy, type RecordedCompactPolicy } from "./compact-policy.ts";

/** What a run was begun with and keeps, whatever its engine says by the time that it is taken up or replayed. */
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

/** The same, as the log has it: what nobody asked for is not said. */
export const recordedPolicies = ({ budget, compact }: RunPolicies) => ({
  ...(budget === null ? {} : { budget }),
  ...(compact === defaultCompactPolicy ? {} : { compact }),
});
