/** Verified copies of conversations between stores, directly or through bundles, which are files; and the spans of recorded runs. */
export { type ExportOptions, exportBundle, importBundle } from "../carry/carry-bundle.ts";
export {
  type CopiedStream,
  type CopyConversationsOptions,
  type CopyOptions,
  copyConversations,
  type OpenStore,
} from "../carry/copy.ts";
export { type ExportSpansOptions, exportSpans } from "../carry/export-spans.ts";
export { redactEvent } from "../carry/redact.ts";
export { type VerifiedBundle, verifyBundle } from "../carry/verify-bundle.ts";
