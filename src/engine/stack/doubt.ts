import { messageOf } from "../../base/error-message.ts";
import { jsonCopy } from "../../base/json.ts";
import { anything, choiceOf, meant, optionsOf, required } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
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

const settlementMembers = optionsOf<{ readonly how: Settlement["how"]; readonly output?: unknown }>({
  how: required(choiceOf("rerun", "abandon", "result")),
  output: anything,
});

/**
 * A settlement as the log will tell it, before it is recorded for ever.
 *
 * @throws {TypeError} when it is none, or its output is no JSON.
 */
export function recordableSettlement(settlement: Settlement, what: string): Settlement {
  const settling = `settling ${what}`;
  const given: unknown = settlement;
  if (typeof given === "string") throw new TypeError(`${settling}: this is a text: write { how: "rerun" }`);
  settlementMembers.check(settling, given);
  if (settlement.how !== "result") return { how: settlement.how };
  try {
    return { how: "result", output: jsonCopy(settlement.output) };
  } catch (cause) {
    throw new TypeError(`the output that settles ${what} is no JSON: ${messageOf(cause)}`, { cause });
  }
}

/** @param inDoubt - What waits to be settled instead, by id. */
export function notInDoubt(wanted: string, inDoubt: ReadonlyMap<BlockId, string> = new Map()): TurnlogError {
  const known = [...new Set(inDoubt.values()), ...inDoubt.keys()];
  const instead = known.length === 0 ? "resume the run to see what is" : meant(wanted, known);
  return new TurnlogError("not-in-doubt", `'${wanted}' is not in doubt: ${instead}`);
}

/**
 * The call or effect in doubt that its block id names, or the name of its tool where no other call of that waits.
 *
 * @throws {TurnlogError} `not-in-doubt` when nothing does.
 * @throws {TypeError} when a name stands for several.
 */
export function idInDoubt(wanted: string, inDoubt: ReadonlyMap<BlockId, string>): BlockId {
  const found = [...inDoubt].filter(([id, name]) => id === wanted || name === wanted).map(([id]) => id);
  const [id] = found;
  if (id === undefined) throw notInDoubt(wanted, inDoubt);
  if (found.length === 1) return id;
  throw new TypeError(`${found.length} calls of '${wanted}' are in doubt: settle each by its id, ${found.join(", ")}`);
}
