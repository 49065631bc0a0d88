import { isUnknownLoss } from "../../engine/recorded/cache-loss.ts";
import type { CacheTrail, PromptOutcome } from "./cache-trail.ts";
import type { CacheTokens } from "./prompt-cache/cache-verdict.ts";
import { answerMisses } from "./rows/answer-misses.ts";
import type { SentPrompt } from "./sent-prompt.ts";

/**
 * What a request paid for again after the settings of an earlier one were erased: the two prompts cannot be compared, so this is what a
 * row says, by counts and times. Null if it read as much as before, or the entry was not there whatever the settings were.
 */
export function missAfterErasure(
  { request, recorded }: SentPrompt,
  { counts, model }: Pick<PromptOutcome, "counts"> & { readonly model: string },
  { prompts, outcomes }: Pick<CacheTrail, "prompts" | "outcomes">,
): CacheTokens | null {
  const { encoder, decision, requestBytes: bytes } = request;
  const loss = decision.cache ?? null;
  if (loss === null || counts === null || !isUnknownLoss(loss)) return null;
  const [before, told] = [prompts.get(loss.against), outcomes.get(loss.against)];
  if (before === undefined || told === undefined || told.answerAt === null) return null;
  const answered = { answeredAt: new Date(told.answerAt).toISOString(), firstMs: null };
  const { cause, author, lost } = answerMisses.missOf({
    ...{ encoder, model, at: recorded.at, bytes, counts, answer: {}, decision: { loss, details: undefined } },
    against: { ...answered, inferenceId: loss.against, at: before.recorded.at, input: told.counts?.input ?? null },
  });
  return cause === "unknown" && author === "erasure" ? { tokens: lost, isAbout: false } : null;
}
