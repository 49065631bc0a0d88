import { countedIn } from "../planning/contexts.ts";
import type { PlanRequest } from "../planning/plan-request.ts";
import type { RunSession } from "../session/session.ts";
import { BudgetExceededError, type BudgetLimit } from "../stack/budget.ts";

/**
 * Asked before each request that is made, and not of those that the log has: the endpoints' own counts say whether it may be.
 *
 * @throws {BudgetExceededError} when it may not.
 */
export function keepBudget(session: RunSession, frame: string, { turn, contexts, scope }: PlanRequest): void {
  const { budget } = session.engine;
  if (budget === null) return;
  const { maxInputTokens, maxTotalTokens } = budget;
  const used: readonly (readonly [BudgetLimit, number, number | undefined])[] = [
    ["maxInputTokens", countedIn(turn, contexts, scope)?.tokens ?? 0, maxInputTokens],
    // What is used up cannot be used again: the last token of it ends the conversation.
    ["maxTotalTokens", session.spent.tokens + 1, maxTotalTokens],
  ];
  for (const [limit, tokens, max] of used) {
    if (max === undefined || tokens <= max) continue;
    const told = { limit, tokens: limit === "maxTotalTokens" ? tokens - 1 : tokens, max };
    if (budget.onExceeded !== "warn") throw new BudgetExceededError(told);
    session.emit({ type: "budget-exceeded", frame, ...told });
  }
}
