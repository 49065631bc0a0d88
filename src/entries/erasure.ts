/** The plan and the result of an erasure, and keys that sign its receipt (docs/TRUST.md). `store.planErasure` and `store.erase` do the work. */
export type { ErasureTargets } from "../conversation/conversation-options.ts";
export { ConversationErasedError } from "../log/codec/erased.ts";
export { type ErasureOrder, type ErasureOrdered, erasureOrders } from "../log/system-streams/erasures.ts";
export type { ExportMade, RecordedExport } from "../log/system-streams/exports.ts";
export type { ErasureReason } from "../operations/erasure/erase.ts";
export type { FoundLines } from "../operations/erasure/find-lines.ts";
export {
  isSignedBy,
  newKeys,
  readSigningKey,
  readVerifyingKey,
  type SigningKey,
  signNote,
  textOfNote,
  type VerifyingKey,
} from "../operations/erasure/note.ts";
export type { ErasurePlan, PlannedConversation, PlannedLines } from "../operations/erasure/plan.ts";
export { type ErasureReceipt, receiptText } from "../operations/erasure/receipt.ts";
