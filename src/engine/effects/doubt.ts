import { messageOf } from "../../base/error-message.ts";
import { jsonCopy } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { Settlement } from "../../domain/events/tool-events.ts";
import type { BlockId } from "../../domain/ids.ts";

/** A tool call or a layer's effect that began in a run that was cut off: nobody knows whether it happened. */
export type InDoubt = {
  readonly runId: string;
  /** The call's block, or the effect's id: what a settlement names. */
  readonly blockId: BlockId;
  readonly name: string;
  /** What it was begun with; services that deduplicate know it. */
  readonly idempotencyKey: string;
  /** Null for an effect of a layer. */
  readonly call: Block | null;
};

/** Decides what becomes of an effect in doubt, from a ledger of its own say; null leaves it to people. */
export type InDoubtHandler = (doubt: InDoubt) => Settlement | null | Promise<Settlement | null>;

/**
 * A settlement as the log will tell it, before it is recorded for ever.
 *
 * @throws {TypeError} when its output is no JSON.
 */
export function recordableSettlement(settlement: Settlement, what: string): Settlement {
  if (settlement.how !== "result") return settlement;
  try {
    return { how: "result", output: jsonCopy(settlement.output) };
  } catch (cause) {
    throw new TypeError(`the output that settles ${what} is no JSON: ${messageOf(cause)}`, { cause });
  }
}
