/** Layers that a program lists in `middleware`, beyond `lens`, `ephemeral` and `logging` of `turnlog` itself. */
export { type ConditionalOptions, conditional } from "../middleware/conditional.ts";
export type { DetectorKind, FindValues } from "../middleware/detectors.ts";
export { type RecoverOptions, type RecoveryAnswer, recover } from "../middleware/recover.ts";
export { redact } from "../middleware/redact.ts";
export type { RedactDetector, RedactOptions, RedactStrategy } from "../middleware/redact-options.ts";
