import type { Reel } from "./reel.ts";
import type { Step } from "./step.ts";

/** Events after an answer that still belong to its step: what layers gave back, and the end of the run. */
const trailing: ReadonlySet<string> = new Set([
  ...["RunCompleted", "RunFailed", "RunCancelled", "RunParked", "ResponseReceived", "InferenceFailed", "ToolParked"],
  ...["AnchorInvalidated", "CapabilityLearned", "ReasoningQuarantined", "ResponseStarted"],
]);

/**
 * The step that a revision belongs to: its request, else for what follows an answer the request before, else the next request; null before
 * anything was sent, and for a message that no request has.
 */
export function stepAt({ rows, steps }: Reel, revision: number): Step | null {
  const next = firstFrom(steps, revision);
  const [before, after] = [steps[next - 1] ?? null, steps[next] ?? null];
  if (after?.revision === revision) return after;
  const mark = rows.mark(revision);
  const isAfterAnswer = mark !== undefined && (trailing.has(mark.type) || mark.isBack);
  // A message at the end of the log was not sent yet.
  if (after === null && mark?.type === "BlockAppended") return null;
  return before !== null && (isAfterAnswer || after === null) ? before : after;
}

/** The index of the first step at or after a revision. */
export function firstFrom(steps: readonly Step[], revision: number): number {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle]?.revision ?? revision) < revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
