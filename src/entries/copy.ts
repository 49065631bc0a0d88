/** Verified copies of conversations between stores, directly or through bundles, which are files; and the spans of recorded runs. */
export { type ExportOptions, exportBundle, importBundle } from "../operations/transfer/carry-bundle.ts";
export {
  type CopiedStream,
  type CopyConversationsOptions,
  type CopyOptions,
  copyConversations,
  type OpenStore,
} from "../operations/transfer/copy.ts";
export { type ExportSpansOptions, exportSpans } from "../operations/transfer/export-spans.ts";
export { redactEvent } from "../operations/transfer/redact.ts";
export { type VerifiedBundle, verifyBundle } from "../operations/transfer/verify-bundle.ts";
