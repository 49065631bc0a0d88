/** Layers that a program lists in `middleware`, beyond `lens`, `ephemeral` and `logging` of `turnlog` itself. */

export { type CacheOptions, type CacheStore, cache } from "../middleware/cache.ts";
export { type ConditionalOptions, conditional } from "../middleware/conditional.ts";
export {
  type CheckedContent,
  type ContentAction,
  type ContentFilterOptions,
  type ContentFinding,
  type ContentVerdict,
  contentFilter,
} from "../middleware/content-filter.ts";
export type { DetectorKind, FindValues } from "../middleware/detectors.ts";
export { type RecoverOptions, type RecoveryAnswer, recover } from "../middleware/recover.ts";
export { redact } from "../middleware/redact.ts";
export type { RedactDetector, RedactOptions, RedactStrategy } from "../middleware/redact-options.ts";
