import type { Actor } from "../../domain/actor.ts";
import { idOf } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { isEndedBySkip } from "../../domain/decider/ended-by-skip.ts";
import { applyEdits, blocksOfEdits } from "../../domain/edits.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import type { BlockId } from "../../domain/ids.ts";
import { Turn } from "../../domain/turn.ts";
import { ConversationDamagedError } from "../damage.ts";
import { byStream, type Projection } from "../projection.ts";
import {
  type AnswersView,
  countBrought,
  type Interruption,
  noAnswers,
  noteCompleted,
  noteTold,
  noteTurn,
} from "./answers.ts";
import { mustEqual } from "./apply-to-turns.ts";
import { type BlameView, emptyBlame, noteErasure, noteResult, noteVersion } from "./blame.ts";
import { applyToRun, beginRun, type OpenRun, type RunEvent } from "./open-run.ts";
import { recoveryResults, turnIfEnded } from "./recovery-results.ts";
import { RunTurns } from "./run-turns.ts";

/** The client's side of a conversation at a revision (rules: Frames, Runs that do not complete, Past revisions). */
export type ClientTurnView = {
  /** The Turn of the last ended run, and the blocks appended since. */
  committed: Turn;
  run: OpenRun | null;
  /** Who made and last changed each block, and who removed it; null if the fold was made without blame. */
  blame: BlameView | null;
  /** Which messages were answered, and by which run. */
  readonly answers: AnswersView;
};

/** The client's Turn, including frames. */
export const clientTurn: Projection<ClientTurnView> = {
  name: "client-turn",
  version: 1,
  lineage: "inherit",
  key: byStream,
  initial: () => ({ committed: Turn.empty, run: null, blame: emptyBlame(), answers: noAnswers() }),
  apply: (view, recorded) => applyToClient(view, recorded, null),
};

/**
 * The same for an event that this process recorded: `applied` are the Turns of its run, to which the event was applied then. From the
 * run's first event on they are the Turns of the view.
 */
export function applyToClient(view: ClientTurnView, recorded: RecordedEvent, applied: RunTurns | null): ClientTurnView {
  try {
    applyEvent(view, recorded, applied);
    if (recorded.frame !== null && recorded.runId === view.run?.id) view.run.frames.see(recorded.frame);
  } catch (cause) {
    const { stream, revision } = recorded;
    throw new ConversationDamagedError(cause instanceof Error ? cause.message : "damage", revision, { stream, cause });
  }
  return view;
}

function applyEvent(view: ClientTurnView, recorded: RecordedEvent, applied: RunTurns | null): void {
  const { event, actor } = recorded;
  switch (event.type) {
    case "ConversationStarted":
      if (view.run !== null) leaveRun(view, view.run, recorded);
      return;
    case "EventSkipped":
      // Part of what the run did is unknown, so it can be neither resumed nor kept.
      if (view.run !== null && isEndedBySkip(recorded.runId, view.run.id)) leaveRun(view, view.run, recorded);
      return;
    case "LinesErased":
      noteErasure(view.blame, event.data.blockIds, recorded);
      return;
    case "TurnReverted":
    case "TurnCompacted": {
      const before = view.committed;
      changeTurn(view, event.data, recorded);
      noteTurn(view.answers, before, view.committed);
      // A revert by the user makes the note about an interruption obsolete.
      if (event.type === "TurnReverted") view.answers.interrupted = null;
      return;
    }
    case "BlockAppended": {
      const block = blockFromJson(event.data.block);
      noteVersion(view.blame, block, recorded);
      if (view.run === null) view.committed = view.committed.append(block);
      else view.run.pending.push(block);
      if (actor.kind === "engine") noteTold(view.answers, idOf(block));
      return;
    }
    case "RunStarted":
      mustEqual(view.committed.digest, event.data.base, "the Turn that the run started from");
      view.run = beginRun(applied ?? new RunTurns(view.committed), event.data, recorded);
      return;
    case "RunCompleted":
      endRun(view, event.data.after, "completed", recorded);
      return;
    case "RunFailed":
    case "RunCancelled":
      endRun(view, event.data.after, "unfinished", recorded);
      return;
    case "RunResumed":
    case "RunParked":
    case "RunCancelRequested":
    case "ToolParked":
    case "ToolSettled":
    case "ApprovalRequested":
    case "ApprovalDecided":
    case "TurnEdited":
    case "InferenceRequested":
    case "ResponseStarted":
    case "ResponseReceived":
    case "InferenceFailed":
    case "ToolStarted":
      applyInRun(view, openRun(view), { ...recorded, event }, applied);
      return;
    case "EffectStarted":
    case "EffectFinished":
      // An effect changes no Turn, so one without its run does no harm.
      if (view.run !== null) applyInRun(view, view.run, { ...recorded, event }, applied);
      return;
    case "ToolFinished":
      // The run of a late result may have ended.
      if (event.data.late !== true) applyInRun(view, openRun(view), { ...recorded, event }, applied);
      return;
    default:
  }
}

function applyInRun(
  { blame }: ClientTurnView,
  run: OpenRun,
  recorded: RecordedEvent & { readonly event: RunEvent },
  applied: RunTurns | null,
): void {
  applyToRun(run, recorded, { blame, applied });
}

function endRun(view: ClientTurnView, after: string, how: "completed" | "unfinished", recorded: RecordedEvent): void {
  const run = openRun(view);
  const { turns } = run;
  const result = how === "completed" ? turns.get("result/0") : turns.unfinishedTurn();
  mustEqual(result.digest, after, "the Turn that the run ended with");
  const removals = how === "completed" ? turns.removalsBefore("result/0") : turns.removals;
  closeRun(view, run, { result, removals, recorded });
  const { id: runId, stream, startedRevision: from } = run;
  if (asksNothing(run)) {
    noteTurn(view.answers, turns.base, result);
    return;
  }
  if (how === "unfinished") {
    noteTurn(view.answers, turns.base, view.committed);
    noteInterrupted(view, run, recorded.event.type === "RunFailed" ? "failed" : "cancelled");
    return;
  }
  const brought = countBrought(turns.base, result);
  const completed = { runId, stream, from, to: recorded.revision, brought };
  noteCompleted(view.answers, completed, { base: turns.base, result });
}

/** A model that was never asked, or never got the request, was not interrupted. */
function noteInterrupted(
  { answers }: ClientTurnView,
  { id: runId, inferences }: OpenRun,
  how: Interruption["how"],
): void {
  const isHeard = [...inferences.values()].some(({ frame, isRejected }) => !isRejected && !isAside(frame));
  if (isHeard) answers.interrupted = { runId, how };
}

/** Whether the run only shortens the Turn: answered messages stay answered, unanswered ones stay unanswered. */
const asksNothing = ({ started }: OpenRun): boolean => started.compact?.only === true;

/**
 * Ends a run without an end of its own as if it had been cancelled there (rule: Lineage): a fork begins in the middle of it, or one of
 * its events was skipped.
 */
function leaveRun(view: ClientTurnView, run: OpenRun, recorded: RecordedEvent): void {
  const { id, turns } = run;
  const byRecovery: RecordedEvent = { ...recorded, actor: { kind: "recovery" } };
  for (const { block } of recoveryResults(id, turns).values()) noteVersion(view.blame, block, byRecovery);
  closeRun(view, run, { result: turnIfEnded(id, turns), removals: turns.removals, recorded });
  if (asksNothing(run)) return;
  noteTurn(view.answers, turns.base, view.committed);
  noteInterrupted(view, run, "cancelled");
}

type Closing = {
  readonly result: Turn;
  readonly removals: ReadonlyMap<BlockId, Actor>;
  readonly recorded: RecordedEvent;
};

function closeRun(view: ClientTurnView, run: OpenRun, { result, removals, recorded }: Closing): void {
  const started = { stream: run.stream, revision: run.startedRevision };
  noteResult(view.blame, { base: run.turns.base, result, removals, removed: run.removed, started }, recorded);
  view.committed = result.append(...run.pending);
  view.run = null;
}

/** The Turn was changed between two runs. */
function changeTurn(
  view: ClientTurnView,
  { edits, after }: ConversationEventOf<"TurnReverted" | "TurnCompacted">["data"],
  recorded: RecordedEvent,
): void {
  if (view.run !== null) throw new Error("the Turn was reverted or compacted while a run was open");
  const base = view.committed;
  for (const block of blocksOfEdits(edits).map(blockFromJson)) noteVersion(view.blame, block, recorded);
  const result = applyEdits(base, edits, ({ id, digest }) => {
    const block = base.find(id);
    return block?.recordedAs === digest ? block : undefined;
  });
  mustEqual(result.digest, after, "the Turn that was made of it");
  noteResult(view.blame, { base, result, removals: new Map(), started: recorded }, recorded);
  view.committed = result;
}

function openRun(view: ClientTurnView): OpenRun {
  if (view.run === null) throw new Error("no run is open");
  return view.run;
}
