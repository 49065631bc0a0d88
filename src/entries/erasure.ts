/** The plan and the result of an erasure, and keys that sign its receipt (docs/TRUST.md). `store.planErasure` and `store.erase` do the work. */
export type { ErasureTargets } from "../conversation/conversation-options.ts";
export type { ErasureReason } from "../erasure/erase.ts";
export type { FoundLines } from "../erasure/find-lines.ts";
export {
  isSignedBy,
  newKeys,
  readSigningKey,
  readVerifyingKey,
  type SigningKey,
  signNote,
  textOfNote,
  type VerifyingKey,
} from "../erasure/note.ts";
export type { ErasurePlan, PlannedConversation, PlannedLines } from "../erasure/plan.ts";
export { type ErasureReceipt, receiptText } from "../erasure/receipt.ts";
export { ConversationErasedError } from "../log/codec/erased.ts";
export { type ErasureOrder, type ErasureOrdered, erasureOrders } from "../log/system-streams/erasures.ts";
export type { ExportMade, RecordedExport } from "../log/system-streams/exports.ts";
