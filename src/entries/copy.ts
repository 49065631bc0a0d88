/** Conversations carried from one store to another, verified: copies, and bundles, which are files of them. */
export { type ExportOptions, exportBundle, importBundle } from "../carry/carry-bundle.ts";
export {
  type CopiedStream,
  type CopyConversationsOptions,
  type CopyOptions,
  copyConversations,
  type OpenStore,
} from "../carry/copy.ts";
export { redactEvent } from "../carry/redact.ts";
