import { checkWhole, choiceOf, optionsOf } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";

/** How many tokens may be used, as the endpoints count them; what they did not tell of counts as nothing. */
export type Budget = {
  /**
   * Of one request: no request is sent of a Turn of which its endpoint has counted more. It counts with an answer, so that what
   * came to the Turn since is not in it.
   */
  readonly maxInputTokens?: number;
  /** Of the conversation: once its answers have used so many, input, output and what layers ask beside it, no more is asked. */
  readonly maxTotalTokens?: number;
  /** `end` (the default) ends the run with `BudgetExceededError`; `warn` shows a `budget-exceeded` part and goes on. */
  readonly onExceeded?: "end" | "warn";
};

/** A budget as the log has it. */
export type RecordedBudget = NonNullable<ConversationEventOf<"RunStarted">["data"]["budget"]>;

/** The limits of a budget. */
export type BudgetLimit = "maxInputTokens" | "maxTotalTokens";

/** A limit that the next request passes: what was used, and what may be. */
type Exceeded = Pick<BudgetExceededError, "limit" | "tokens" | "max">;

/** The next request would have gone past the budget: it was not sent. Recorded as the failure of the run. */
export class BudgetExceededError extends TurnlogError<"budget-exceeded"> {
  override readonly name = "BudgetExceededError";
  readonly limit: BudgetLimit;
  /** What was used, and what may be. */
  readonly tokens: number;
  readonly max: number;

  constructor({ limit, tokens, max }: Pick<BudgetExceededError, "limit" | "tokens" | "max">) {
    const what =
      limit === "maxTotalTokens"
        ? `the conversation has used ${tokens} tokens: raise the budget, or go on in another conversation`
        : `what would be sent was counted as ${tokens} tokens: raise the budget, or compact the conversation`;
    super("budget-exceeded", `the request is over ${limit} (${max}): ${what}`);
    this.limit = limit;
    this.tokens = tokens;
    this.max = max;
  }
}

/** What is used before a request. */
type UsedTokens = {
  /** What the endpoint has counted of what would be sent. */
  readonly counted: () => number;
  /** What the conversation has used, in all. */
  readonly total: number;
};

/**
 * Asked before each request that is made, and not of those that the log has: the endpoints' own counts say whether it may be.
 *
 * @param onExceeded - Told of a limit that is passed, where the budget only warns.
 * @throws {BudgetExceededError} when it may not.
 */
export function keepBudget(
  budget: RecordedBudget | null,
  { counted, total }: UsedTokens,
  onExceeded: (told: Exceeded) => void,
): void {
  if (budget === null) return;
  const { maxInputTokens, maxTotalTokens } = budget;
  const used: readonly (readonly [BudgetLimit, number, number | undefined])[] = [
    ["maxInputTokens", counted(), maxInputTokens],
    // What is used up cannot be used again: the last token of it ends the conversation.
    ["maxTotalTokens", total + 1, maxTotalTokens],
  ];
  for (const [limit, tokens, max] of used) {
    if (max === undefined || tokens <= max) continue;
    const told = { limit, tokens: limit === "maxTotalTokens" ? tokens - 1 : tokens, max };
    if (budget.onExceeded !== "warn") throw new BudgetExceededError(told);
    onExceeded(told);
  }
}

const budgetOptions = optionsOf<Budget>({
  ...{ maxInputTokens: checkWhole, maxTotalTokens: checkWhole, onExceeded: choiceOf("end", "warn") },
});

/**
 * A budget as it was given, complete; null for none.
 *
 * @throws {TypeError | RangeError} for an option that is none, a value that it cannot have, and a budget without a limit.
 */
export function recordedBudget(where: string, given: Budget | null | undefined): RecordedBudget | null {
  if (given === null || given === undefined) return null;
  budgetOptions.check(`${where}'s budget`, given, `${where}: budget.`);
  const { maxInputTokens, maxTotalTokens, onExceeded = "end" } = given;
  if (maxInputTokens === undefined && maxTotalTokens === undefined)
    throw new TypeError(`${where}: budget has no limit: give maxInputTokens or maxTotalTokens`);
  return {
    ...(maxInputTokens === undefined ? {} : { maxInputTokens }),
    ...(maxTotalTokens === undefined ? {} : { maxTotalTokens }),
    onExceeded,
  };
}
