import type { CachedRequest } from "./prompt-cache/cache-verdict.ts";
import { agreesWith, differingRegions } from "./prompt-cache/diagnosis-agreement.ts";
import type { CacheDiagnosis } from "./prompt-cache/told-diagnosis.ts";
import type { RequestCache } from "./request-cache.ts";
import type { SentPrompt } from "./sent-prompt.ts";

/** A request and the one that its vendor compared it with, as turnlog makes them again; null for what it cannot make. */
type Compared = {
  readonly family: string;
  readonly now: CachedRequest | null;
  readonly before: { readonly prompt: SentPrompt; readonly request: CachedRequest | null } | null;
};

/** What the vendor says of a request, beside turnlog's own comparison with the same earlier request. */
export function saidByServer(
  diagnosis: CacheDiagnosis,
  { family, now, before }: Compared,
): NonNullable<RequestCache["serverSays"]> {
  const earlier = before?.request ?? null;
  const isComparable = now !== null && earlier !== null;
  return {
    ...diagnosis,
    against: before === null ? null : placeOf(before.prompt),
    agrees: isComparable ? agreesWith(diagnosis, differingRegions(family, earlier, now)) : null,
  };
}

/** Where the log has a request. */
export const placeOf = ({ recorded: { stream, revision, at }, request: { inferenceId } }: SentPrompt) => ({
  ...{ stream, revision, inferenceId, at },
});
