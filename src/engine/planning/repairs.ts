import { textOrEmpty } from "../../base/json.ts";
import type { Repair } from "../../domain/events/inference-events.ts";

/** A block is not sent, by the name of why. */
export const omit = (index: number, reason: string): Repair => ({ rule: "omit", index, detail: { reason } });

/** A block is sent without the id of its item. */
export const omitId = (index: number, reason: string): Repair => ({ rule: "omit-id", index, detail: { reason } });

/** A call or a result is sent under another call id: its own names another call, or is (as the reason) none that the server takes. */
export const renameCall = (index: number, callId: string, reason: "id-not-taken" | null = null): Repair => ({
  ...{ rule: "rename-call", index, detail: reason === null ? { callId } : { callId, reason } },
});

/** The open call at `index` is answered before the block at `before` (the length of the Turn: at its end). */
export const answerCall = (index: number, detail: { readonly before: number; readonly callId: string }): Repair => ({
  ...{ rule: "answer", index, detail },
});

/** A block is said otherwise than it stands, by the name of why: the wire has no form for it. */
export const restate = (index: number, reason: string): Repair => ({ rule: "restate", index, detail: { reason } });

/** A block is sent without its signature, or with what stands for one, by the name of why. */
export const standIn = (index: number, reason: string): Repair => ({ rule: "stand-in", index, detail: { reason } });

/** The user is made to say something at the end of the Turn, by the name of why. */
export const promptAt = (length: number, reason: string): Repair => ({
  ...{ rule: "prompt", index: length, detail: { reason } },
});

/** The place in the Turn that a repair changes something at. */
export function repairIndexOf({ rule, index, detail }: Repair): number {
  if (!rules.has(rule))
    throw new Error(`the repair '${rule}' is not known: a newer turnlog decided it, update this one`);
  return rule === "answer" && typeof detail["before"] === "number" ? detail["before"] : index;
}

/** The call id that a repair says. */
export const callIdOf = ({ detail }: Repair): string => textOrEmpty(detail["callId"]);

const rules: ReadonlySet<string> = new Set([
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
