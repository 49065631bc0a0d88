import { type JsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import type { ApprovalRequestedData } from "../../domain/events/tool-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { AskedApproval, OpenRun } from "../client-turn/open-run.ts";

/** What a run waits for: a call, or (`doubt`) a layer's effect. */
export type Waiting = {
  /**
   * `approval`: a person has to decide whether the call may begin. `doubt`: it had begun when its process ended, or its tool cannot know its outcome.
   * `external`: its result comes from outside the engine.
   */
  readonly kind: "approval" | "doubt" | "external";
  /** The id of the call's block, or of the effect: approve, deny or settle it by this id. */
  readonly blockId: BlockId;
  readonly name: string;
  /** The arguments as the tool loop has them, or their text if they are not JSON; null for a layer's effect. */
  readonly input: JsonValue;
  /** The name under which the conversation records the call with these arguments; null for a layer's effect. */
  readonly digest: string | null;
  /** Of an approval: the JSON Schema that an edited input has to match. */
  readonly inputSchema: JsonObject | null;
  /** Why the tool or the engine asks, or what the tool says about the wait. */
  readonly reason: string | null;
  readonly since: string;
  /** Of an approval: when it counts as denied. */
  readonly expiresAt: string | null;
};

/**
 * What an open run waits for, in the order of the calls in the log; empty if it goes on with the next `run`.
 *
 * @param now - As ISO text: an approval that has expired by then is not waited for. Nothing has expired by the empty text.
 */
export function waitingIn(run: OpenRun, now: string): readonly Waiting[] {
  const approvals = [...run.approvals.values()].flatMap((approval) =>
    isUndecided(approval) && !isExpired(approval.asked, now) ? [waitingApproval(run, approval)] : [],
  );
  const parked = [...run.parked].map(([blockId, { name, reason, since, hasBegun }]): Waiting => {
    const call = run.turns.ownCall(blockId);
    return {
      ...{ kind: hasBegun ? "doubt" : "external", blockId, name },
      ...{ input: call === null ? null : inputOf(call), digest: call?.recordedAs ?? null, since },
      ...{ inputSchema: null, reason, expiresAt: null },
    };
  });
  return [...approvals, ...parked];
}

/** The calls without a decision in the log whose time is over. */
export const expiredIn = (run: OpenRun, now: string): readonly ApprovalRequestedData[] =>
  [...run.approvals.values()].flatMap((approval) =>
    isUndecided(approval) && isExpired(approval.asked, now) ? [approval.asked] : [],
  );

/** The calls without a decision. */
export const undecidedIn = ({ approvals }: OpenRun): readonly ApprovalRequestedData[] =>
  [...approvals.values()].flatMap((approval) => (isUndecided(approval) ? [approval.asked] : []));

const isUndecided = ({ decision }: AskedApproval): boolean => decision === null;

/** Whether the time for a decision is over. */
export const isExpired = ({ expiresAt }: ApprovalRequestedData, now: string): boolean =>
  expiresAt !== undefined && expiresAt <= now;

/** The call with the arguments that a person was asked about; null if the log does not have it. */
export function askedCall({ turns }: OpenRun, { blockId, inputDigest, call }: ApprovalRequestedData): Block | null {
  if (call !== undefined) return blockFromJson(call);
  return turns.version(blockId, inputDigest);
}

function waitingApproval(run: OpenRun, { asked, since }: AskedApproval): Waiting {
  const call = askedCall(run, asked);
  const { blockId, name, inputDigest: digest, inputSchema = null, reason = null, expiresAt = null } = asked;
  return {
    ...{ kind: "approval", blockId, name, input: call === null ? null : inputOf(call) },
    ...{ digest, inputSchema, reason, since, expiresAt },
  };
}

function inputOf(call: Block): JsonValue {
  try {
    return parseJson(call.arguments === "" ? "{}" : call.arguments);
  } catch {
    return call.arguments;
  }
}
