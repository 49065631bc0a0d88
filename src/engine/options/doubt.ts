import { messageOf } from "../../base/error-message.ts";
import { jsonCopy } from "../../base/json.ts";
import { anything, choiceOf, meant, optionsOf, required } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import type { Settlement } from "../../domain/events/tool-events.ts";
import type { BlockId } from "../../domain/ids.ts";

/** A tool call or a layer's effect with an unknown outcome: it began in an interrupted run, or its tool threw `tool-in-doubt`. */
export type InDoubt = {
  readonly runId: string;
  /** The id of the call's block, or of the effect: settle it by this id. */
  readonly blockId: BlockId;
  readonly name: string;
  /** The key that it began with, for services that deduplicate. */
  readonly idempotencyKey: string;
  /** Null for an effect of a layer. */
  readonly call: Block | null;
};

/** Settles an effect in doubt, for example from your own records; return null to leave it to a person. */
export type InDoubtHandler = (doubt: InDoubt) => Settlement | null | Promise<Settlement | null>;

const settlementMembers = optionsOf<{ readonly how: Settlement["how"]; readonly output?: unknown }>({
  how: required(choiceOf("rerun", "abandon", "result")),
  output: anything,
});

/**
 * A settlement in the form in which it is recorded.
 *
 * @throws {TypeError} if it is not a settlement, or its output is not JSON.
 */
export function recordableSettlement(settlement: Settlement, what: string): Settlement {
  const settling = `settling ${what}`;
  const given: unknown = settlement;
  if (typeof given === "string") throw new TypeError(`${settling}: got a text: write { how: "rerun" }`);
  settlementMembers.check(settling, given);
  if (settlement.how !== "result") return { how: settlement.how };
  try {
    return { how: "result", output: jsonCopy(settlement.output) };
  } catch (cause) {
    throw new TypeError(`the output that settles ${what} is not JSON: ${messageOf(cause)}`, { cause });
  }
}

/** @param inDoubt - The effects that are in doubt, by id. */
export function notInDoubt(wanted: string, inDoubt: ReadonlyMap<BlockId, string> = new Map()): TurnlogError {
  const known = [...new Set(inDoubt.values()), ...inDoubt.keys()];
  const instead = known.length === 0 ? "resume the run to see which calls are" : meant(wanted, known);
  return new TurnlogError("not-in-doubt", `'${wanted}' is not in doubt: ${instead}`);
}

/**
 * Finds the call or effect in doubt by its block id, or by its tool's name if only one call of that tool is in doubt.
 *
 * @throws {TurnlogError} `not-in-doubt` if there is none.
 * @throws {TypeError} if the name is ambiguous.
 */
export function idInDoubt(wanted: string, inDoubt: ReadonlyMap<BlockId, string>): BlockId {
  const found = [...inDoubt].filter(([id, name]) => id === wanted || name === wanted).map(([id]) => id);
  const [id] = found;
  if (id === undefined) throw notInDoubt(wanted, inDoubt);
  if (found.length === 1) return id;
  throw new TypeError(`${found.length} calls of '${wanted}' are in doubt: settle each by its id, ${found.join(", ")}`);
}
