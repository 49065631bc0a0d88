import { textOrEmpty } from "../../base/json.ts";
import type { Repair } from "../../domain/events/inference-events.ts";

/** A block is not sent, for this named reason. */
export const omit = (index: number, reason: string): Repair => ({ rule: "omit", index, detail: { reason } });

/** The content of a block was erased: a stand-in is sent. */
export const erased = (index: number): Repair => ({ rule: "erased", index, detail: {} });

/** Whether a stand-in is sent for a block, or the block is left out, because its content was erased. */
export const isOfErasure = ({ rule, detail }: Repair): boolean => rule === "erased" || detail["reason"] === "erased";

/** A block is sent without the id of its item. */
export const omitId = (index: number, reason: string): Repair => ({ rule: "omit-id", index, detail: { reason } });

/**
 * A call or result is sent under another call id, because another call has its own id, or (as the reason) the server does not
 * accept that.
 */
export const renameCall = (index: number, callId: string, reason: "id-not-taken" | null = null): Repair => ({
  ...{ rule: "rename-call", index, detail: reason === null ? { callId } : { callId, reason } },
});

/** The request answers the open call at `index` before the block at `before` (the length of the Turn: at its end). */
export const answerCall = (index: number, detail: { readonly before: number; readonly callId: string }): Repair => ({
  ...{ rule: "answer", index, detail },
});

/** A block is sent in another form, for this named reason: the wire cannot express it exactly. */
export const restate = (index: number, reason: string): Repair => ({ rule: "restate", index, detail: { reason } });

/** A block is sent without its signature, or with a stand-in for one, for this named reason. */
export const standIn = (index: number, reason: string): Repair => ({ rule: "stand-in", index, detail: { reason } });

/** A user's message is added at the end of the Turn, for this named reason. */
export const promptAt = (length: number, reason: string): Repair => ({
  ...{ rule: "prompt", index: length, detail: { reason } },
});

/** The place in the Turn that a repair changes. */
export function repairIndexOf({ rule, index, detail }: Repair): number {
  if (!rules.has(rule))
    throw new Error(`the repair '${rule}' is unknown, because a newer turnlog recorded it: update turnlog`);
  return rule === "answer" && typeof detail["before"] === "number" ? detail["before"] : index;
}

/** The call id in a repair. */
export const callIdOf = ({ detail }: Repair): string => textOrEmpty(detail["callId"]);

const rules: ReadonlySet<string> = new Set([
  "erased",
  "omit",
  "omit-id",
  "omit-parts",
  "rename-call",
  "late-result",
  "answer",
  "restate",
  "stand-in",
  "prompt",
]);
