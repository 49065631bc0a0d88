import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import { type BlockJson, blockFromJson } from "../../domain/block-json.ts";
import { type EffectState, effectIn } from "../../domain/decider/facts.ts";
import { blocksOfEdits } from "../../domain/edits.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Owner } from "../../domain/events/run-events.ts";
import type { ApprovalDecidedData, ApprovalRequestedData, Settlement } from "../../domain/events/tool-events.ts";
import { isAside } from "../../domain/frame.ts";
import type { BlockId } from "../../domain/ids.ts";
import { applyToTurns, entersTurn } from "./apply-to-turns.ts";
import { type BlameView, type BlockChange, changeOf, noteVersion } from "./blame.ts";
import { KnownFrames } from "./known-frames.ts";
import type { RunTurns } from "./run-turns.ts";

/** A run that has not ended. */
export type OpenRun = {
  readonly id: string;
  readonly started: ConversationEventOf<"RunStarted">["data"];
  readonly startedAt: string;
  readonly startedRevision: number;
  readonly stream: string;
  /** How often the run changed owners, and the current owner; null while it is parked. */
  epoch: number;
  owner: Owner | null;
  /** Who first asked to end the run, and why; null if nobody has. */
  cancelRequest: { readonly actor: Actor; readonly reason: string } | null;
  /** The state of tool calls and layers' effects, by id, after the newest event of each. */
  readonly effects: Map<string, EffectState>;
  /** Calls and effects that are parked and not settled, by block id. */
  readonly parked: Map<BlockId, ParkedEffect>;
  /** How calls and effects were settled, by block id. */
  readonly settled: Map<BlockId, { readonly settlement: Settlement; readonly actor: Actor }>;
  /** What people were asked about calls, and what they decided, by block id. */
  readonly approvals: Map<string, AskedApproval>;
  /** Those of the process that executes it, from its first event there on; else those that were made of its events. */
  turns: RunTurns;
  /** Those that its events speak of; the Turns above know the ones that something was handed on to. */
  readonly frames: KnownFrames;
  /** The blocks that its passes removed, also if they were restored: when, and by whom. */
  readonly removed: Map<string, BlockChange>;
  /** Blocks appended meanwhile: durable and visible, but in the Turn only after the run has ended. */
  readonly pending: Block[];
  /** Frames and endpoints of the inferences, by inference id. */
  readonly inferences: Map<
    string,
    {
      readonly frame: string;
      readonly scope: string;
      isOpen: boolean;
      /** The server rejected the request without acting on it. */
      isRejected: boolean;
    }
  >;
  /** Responses that servers are making in the background, by inference id, until they are received. */
  readonly underWay: Map<string, { readonly responseId: string; readonly scope: string }>;
};

/** A call or an effect that waits to be settled. One that has not begun is a call of an external tool. */
type ParkedEffect = {
  readonly name: string;
  readonly reason: string | null;
  readonly since: string;
  readonly hasBegun: boolean;
};

/** What a person is asked about a call, and the decision. */
export type AskedApproval = {
  readonly asked: ApprovalRequestedData;
  readonly since: string;
  decision: { readonly data: ApprovalDecidedData; readonly actor: Actor; readonly at: string } | null;
};

/** A new run. */
export const beginRun = (
  turns: RunTurns,
  started: ConversationEventOf<"RunStarted">["data"],
  { runId, at, revision, stream }: RecordedEvent,
): OpenRun => ({
  id: runId ?? "",
  started,
  startedAt: at,
  startedRevision: revision,
  stream,
  epoch: started.epoch,
  owner: started.owner,
  cancelRequest: null,
  effects: new Map(),
  parked: new Map(),
  settled: new Map(),
  approvals: new Map(),
  turns,
  frames: new KnownFrames(),
  removed: new Map(),
  pending: [],
  inferences: new Map(),
  underWay: new Map(),
});

/** The events between the start of a run and its end. */
export type RunEvent = ConversationEventOf<
  | "RunResumed"
  | "RunParked"
  | "RunCancelRequested"
  | "ToolParked"
  | "ToolSettled"
  | "ApprovalRequested"
  | "ApprovalDecided"
  | "TurnEdited"
  | "InferenceRequested"
  | "ResponseStarted"
  | "ResponseReceived"
  | "InferenceFailed"
  | "ToolStarted"
  | "ToolFinished"
  | "EffectStarted"
  | "EffectFinished"
>;

/**
 * Applies an event to the run that it is of. Where the Turns are those of the process that records the event (`applied`), it has applied it
 * to them already: what is left is what follows from the event's place. With the first event of a process that takes the run up, its Turns
 * are adopted: it has met all of the log by then.
 */
export function applyToRun(
  run: OpenRun,
  recorded: RecordedEvent & { readonly event: RunEvent },
  { blame, applied }: { readonly blame: BlameView | null; readonly applied: RunTurns | null },
): void {
  const { event } = recorded;
  if (event.type === "RunResumed" && applied !== null) {
    applied.goOnFrom(run.turns);
    run.turns = applied;
  }
  const { turns, inferences, underWay } = run;
  const effect = effectIn(event);
  const before = effect === null ? undefined : run.effects.get(effect.id);
  if (effect !== null) run.effects.set(effect.id, effect.state);
  if (turns !== applied) applyToTurns(turns, event, recorded);
  noteVersions(run, recorded, blame);
  switch (event.type) {
    case "RunResumed":
      run.epoch = event.data.epoch;
      run.owner = event.data.owner;
      return;
    case "RunParked":
      run.owner = null;
      return;
    case "RunCancelRequested":
      run.cancelRequest ??= { actor: recorded.actor, reason: event.data.reason };
      return;
    case "ToolParked": {
      const { blockId, name, reason = null } = event.data;
      run.parked.set(blockId, { name, reason, since: recorded.at, hasBegun: before !== undefined });
      return;
    }
    case "ToolSettled":
      run.parked.delete(event.data.blockId);
      run.settled.set(event.data.blockId, { settlement: event.data.settlement, actor: recorded.actor });
      return;
    case "ApprovalRequested":
      run.approvals.set(event.data.blockId, { asked: event.data, since: recorded.at, decision: null });
      return;
    case "ApprovalDecided": {
      const asked = run.approvals.get(event.data.blockId);
      if (asked === undefined) throw new Error(`the log has no question about the call ${event.data.blockId}`);
      asked.decision = { data: event.data, actor: recorded.actor, at: recorded.at };
      return;
    }
    case "TurnEdited":
      // What is asked beside the conversation takes nothing out of it.
      if (isAside(recorded.frame)) return;
      for (const id of turns.takeRemoved()) run.removed.set(id, changeOf(recorded));
      return;
    case "InferenceRequested": {
      const { inferenceId, scope } = event.data;
      inferences.set(inferenceId, { frame: recorded.frame ?? "0", scope, isOpen: true, isRejected: false });
      return;
    }
    case "ResponseStarted": {
      const { inferenceId, responseId } = event.data;
      const scope = inferences.get(inferenceId)?.scope;
      if (scope !== undefined) underWay.set(inferenceId, { responseId, scope });
      return;
    }
    case "ResponseReceived": {
      underWay.delete(event.data.inferenceId);
      const inference = inferences.get(event.data.inferenceId);
      if (inference === undefined) throw new Error(`no inference ${event.data.inferenceId} was requested`);
      inference.isOpen = false;
      return;
    }
    case "InferenceFailed": {
      const inference = inferences.get(event.data.inferenceId);
      if (inference !== undefined) {
        inference.isOpen = false;
        inference.isRejected = event.data.outcome === "rejected";
      }
      if (!waitingEnded.has(event.data.kind)) underWay.delete(event.data.inferenceId);
      return;
    }
    default:
  }
}

/** Records who made the blocks of an event. Asides have no blame. */
function noteVersions({ turns }: OpenRun, recorded: RecordedEvent, blame: BlameView | null): void {
  if (blame === null || isAside(recorded.frame)) return;
  const { event } = recorded;
  const note = (json: BlockJson): void =>
    noteVersion(blame, turns.version(json.id, json.digest) ?? blockFromJson(json), recorded);
  if (event.type === "TurnEdited") blocksOfEdits(event.data.edits).forEach(note);
  else if (event.type === "ResponseReceived") event.data.output.filter(entersTurn).forEach(note);
  else if (event.type === "ToolFinished") note(event.data.result);
}

/** Failures while waiting for an answer, which say nothing about the response. */
const waitingEnded: ReadonlySet<string> = new Set([
  ...["aborted", "connection", "timeout", "stream-cut", "provider-failed"],
  ...["body-too-large", "item-too-large", "stream-too-large", "answer-stalled"],
]);
