import type { CacheAuthor } from "../../projections/views/cache-author.ts";
import type { CacheCause, CacheVerdict } from "./prompt-cache/cache-verdict.ts";

/** What avoids a miss, by name; `src/analysis/descriptions/describe-cache.ts` has the words. */
export type CacheAdvice =
  | "layer-edits-once"
  | "append-only"
  | "compact-less"
  | "fixed-instructions"
  | "fixed-tools"
  | "fixed-settings"
  | "same-partition"
  | "set-breakpoints"
  | "more-breakpoints"
  | "new-message"
  | "longer-lifetime"
  | "wait-for-answer";

type Told = Pick<CacheVerdict, "unit"> & {
  readonly cause: CacheCause | "unknown";
  readonly foreseen: CacheCause | "unknown";
  readonly author: CacheAuthor | null;
};

/** What would have avoided a miss; null if nothing that the program does would have. */
export function adviceFor({ cause, foreseen, unit, author }: Told, family: string): CacheAdvice | null {
  const lead = cause === "untold" || cause === "more-than-known" ? foreseen : cause;
  if (author?.kind === "erasure") return null;
  if (lead === "changed") return adviceOnChange({ unit, author });
  if (lead === "expired" || lead === "maybe-expired") return hasLifetimes(family) ? "longer-lifetime" : null;
  return advices.get(lead) ?? null;
}

const advices: ReadonlyMap<string, CacheAdvice> = new Map([
  ["tools-changed", "fixed-tools"],
  ["setting-changed", "fixed-settings"],
  ["other-partition", "same-partition"],
  ["no-breakpoint", "set-breakpoints"],
  ["out-of-lookback", "more-breakpoints"],
  ["boundary-moved", "new-message"],
  ["not-yet-readable", "wait-for-answer"],
]);

function adviceOnChange({ unit, author }: Pick<Told, "unit" | "author">): CacheAdvice | null {
  switch (author?.kind) {
    case "layer":
      return "layer-edits-once";
    case "compaction":
      return "compact-less";
    case "caller":
      return unit?.kind === "system" ? "fixed-instructions" : "append-only";
    case "settings":
      return "fixed-instructions";
    default:
      return null;
  }
}

/** Whether requests of a wire can ask for a longer lifetime. */
const hasLifetimes = (family: string): boolean => /^(openai-responses|chat|anthropic-messages)$/.test(family);
