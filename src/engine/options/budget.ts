import { checkWhole, choiceOf, optionsOf } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";

/** Token limits, by the endpoints' own counts; tokens that an endpoint did not report count as zero. */
export type Budget = {
  /**
   * For one request: none is sent if the endpoint has counted more tokens of its Turn than this. The count arrives with an answer,
   * so it excludes blocks that were added since.
   */
  readonly maxInputTokens?: number;
  /**
   * For the conversation: no request is sent once its answers have used this many tokens, input, output and the layers' own
   * questions included.
   */
  readonly maxTotalTokens?: number;
  /** `end` (the default) ends the run with `BudgetExceededError`; `warn` emits a `budget-exceeded` part and continues. */
  readonly onExceeded?: "end" | "warn";
};

/** A budget as the log has it. */
export type RecordedBudget = NonNullable<ConversationEventOf<"RunStarted">["data"]["budget"]>;

/** The limits of a budget. */
export type BudgetLimit = "maxInputTokens" | "maxTotalTokens";

/** A limit that the next request exceeds, with the tokens used and the maximum. */
type Exceeded = Pick<BudgetExceededError, "limit" | "tokens" | "max">;

/** The next request would have exceeded the budget, so it was not sent. Recorded as the failure of the run. */
export class BudgetExceededError extends TurnlogError<"budget-exceeded"> {
  override readonly name = "BudgetExceededError";
  readonly limit: BudgetLimit;
  /** The tokens used, and the maximum. */
  readonly tokens: number;
  readonly max: number;

  constructor({ limit, tokens, max }: Pick<BudgetExceededError, "limit" | "tokens" | "max">) {
    const what =
      limit === "maxTotalTokens"
        ? `the conversation has used ${tokens} tokens: raise the budget, or continue in another conversation`
        : `the request was counted as ${tokens} tokens: raise the budget, or compact the conversation`;
    super("budget-exceeded", `the request is over ${limit} (${max}): ${what}`);
    this.limit = limit;
    this.tokens = tokens;
    this.max = max;
  }
}

/** Tokens used before a request. */
type UsedTokens = {
  /** The tokens that the endpoint has counted of the blocks to send. */
  readonly counted: () => number;
  /** All tokens that the conversation has used. */
  readonly total: number;
};

/**
 * Checks the budget before each new request; requests that the log already has are not checked.
 *
 * @param onExceeded - Called with the exceeded limit if the budget only warns.
 * @throws {BudgetExceededError} if the request may not be sent.
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
    // The limit is exceeded once it is used up: the next request needs at least one token more.
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
 * The budget with its defaults; null for none.
 *
 * @throws {TypeError | RangeError} if an option is unknown or invalid, or the budget has no limit.
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
