import type { Actor } from "../domain/actor.ts";
import { type Block, idOf } from "../domain/block.ts";
import { type BlockJson, blockFromJson } from "../domain/block-json.ts";
import { applyEdits, blocksOfEdits } from "../domain/edits.ts";
import type { ConversationEventOf } from "../domain/events/event.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { Owner } from "../domain/events/run-events.ts";
import { isAside } from "../domain/frame.ts";
import type { BlockId } from "../domain/ids.ts";
import { Turn } from "../domain/turn.ts";
import {
  type AnswersView,
  countBrought,
  type Interruption,
  noAnswers,
  noteAppended,
  noteCompleted,
  noteTurn,
  noteUnasked,
} from "./answers.ts";
import { type BlameView, type BlockChange, changeOf, emptyBlame, noteResult, noteVersion } from "./blame.ts";
import { ConversationDamagedError } from "./damage.ts";
import { KnownFrames } from "./known-frames.ts";
import { byStream, type Projection } from "./projection.ts";
import { recoveryResults, turnIfEnded } from "./recovery-results.ts";
import { RunTurns, type TurnName } from "./run-turns.ts";

/** A run that has not ended. */
export type OpenRun = {
  readonly id: string;
  readonly started: ConversationEventOf<"RunStarted">["data"];
  readonly startedAt: string;
  readonly startedRevision: number;
  readonly stream: string;
  /** How often it was taken up, and by whom last; null while it is parked. */
  epoch: number;
  owner: Owner | null;
  /** Calls and effects in doubt that nobody has settled yet, by block id: their names. */
  readonly inDoubt: Map<BlockId, string>;
  readonly turns: RunTurns;
  /** Those that its events speak of; the Turns above know the ones that something was handed on to. */
  readonly frames: KnownFrames;
  /** What its passes left out, also what was put back: when, and by whom. */
  readonly removed: Map<string, BlockChange>;
  /** Blocks appended meanwhile: durable and visible, in the Turn once the run has ended. */
  readonly pending: Block[];
  /** Frames and endpoints of the inferences, by inference id, and whom a router chose for them. */
  readonly inferences: Map<
    string,
    {
      readonly frame: string;
      readonly scope: string;
      readonly route: string | null;
      isOpen: boolean;
      /** The server refused it, and has not acted on it. */
      isRejected: boolean;
    }
  >;
  /** Responses that servers make in the background, by inference id: begun, and nobody has them yet. */
  readonly underWay: Map<string, { readonly responseId: string; readonly scope: string }>;
};

/** What the client's side of a conversation is at a revision (rules: Frames, Runs that do not complete, Past revisions). */
export type ClientTurnView = {
  /** The Turn of the last ended run, and the blocks appended since. */
  committed: Turn;
  run: OpenRun | null;
  /** Who made and last changed each block, and who removed it; null in a fold that was not asked for it. */
  blame: BlameView | null;
  /** What was answered, and by which run. */
  readonly answers: AnswersView;
};

/** The client's Turn, frames included. */
export const clientTurn: Projection<ClientTurnView> = {
  name: "client-turn",
  version: 1,
  lineage: "inherit",
  key: byStream,
  initial: () => ({ committed: Turn.empty, run: null, blame: emptyBlame(), answers: noAnswers() }),
  apply(view, recorded) {
    try {
      applyEvent(view, recorded);
      if (recorded.frame !== null && recorded.runId === view.run?.id) view.run.frames.see(recorded.frame);
    } catch (cause) {
      const { stream, revision } = recorded;
      throw new ConversationDamagedError(cause instanceof Error ? cause.message : "damage", revision, {
        stream,
        cause,
      });
    }
    return view;
  },
};

function applyEvent(view: ClientTurnView, recorded: RecordedEvent): void {
  const { event, actor } = recorded;
  switch (event.type) {
    case "ConversationStarted":
      if (view.run !== null) leaveRun(view, view.run, recorded);
      return;
    case "EventSkipped":
      // Of what the run did something is not known: nobody can go on with it, nor keep it.
      if (view.run !== null && recorded.runId === view.run.id) leaveRun(view, view.run, recorded);
      return;
    case "TurnReverted":
    case "TurnCompacted": {
      const before = view.committed;
      changeTurn(view, event.data, recorded);
      (event.type === "TurnReverted" ? noteTurn : noteUnasked)(view.answers, before, view.committed);
      // Who goes back has seen what broke off.
      if (event.type === "TurnReverted") view.answers.interrupted = null;
      return;
    }
    case "BlockAppended": {
      const block = blockFromJson(event.data.block);
      noteVersion(view.blame, block, recorded);
      const before = view.committed;
      if (view.run === null) view.committed = before.append(block);
      else view.run.pending.push(block);
      if (actor.kind === "engine") {
        noteUnasked(view.answers, before, view.committed);
        view.answers.interrupted = null;
      } else noteAppended(view.answers);
      return;
    }
    case "RunStarted":
      mustEqual(view.committed.digest, event.data.base, "the Turn that the run started from");
      view.run = {
        id: recorded.runId ?? "",
        started: event.data,
        startedAt: recorded.at,
        startedRevision: recorded.revision,
        stream: recorded.stream,
        epoch: event.data.epoch,
        owner: event.data.owner,
        inDoubt: new Map(),
        turns: new RunTurns(view.committed),
        frames: new KnownFrames(),
        removed: new Map(),
        pending: [],
        inferences: new Map(),
        underWay: new Map(),
      };
      return;
    case "RunResumed": {
      const run = openRun(view);
      run.epoch = event.data.epoch;
      run.owner = event.data.owner;
      return;
    }
    case "RunParked":
      openRun(view).owner = null;
      return;
    case "ToolParked":
      openRun(view).inDoubt.set(event.data.blockId, event.data.name);
      return;
    case "ToolSettled":
      openRun(view).inDoubt.delete(event.data.blockId);
      return;
    case "RunCompleted":
      endRun(view, event.data.after, "completed", recorded);
      return;
    case "RunFailed":
    case "RunCancelled":
      endRun(view, event.data.after, "unfinished", recorded);
      return;
    case "TurnEdited":
      applyPass(openRun(view), event.data, recorded, view.blame);
      return;
    case "InferenceRequested": {
      const { turns, inferences } = openRun(view);
      const frame = recorded.frame ?? "0";
      const { input, inferenceId, scope, route = null } = event.data;
      mustEqual(turns.request(frame).digest, input.outgoing ?? input.turn, "the outgoing Turn");
      inferences.set(inferenceId, { frame, scope, route, isOpen: true, isRejected: false });
      return;
    }
    case "ResponseStarted": {
      const { inferences, underWay } = openRun(view);
      const { inferenceId, responseId } = event.data;
      const scope = inferences.get(inferenceId)?.scope;
      if (scope !== undefined) underWay.set(inferenceId, { responseId, scope });
      return;
    }
    case "ResponseReceived": {
      const { turns, inferences, underWay } = openRun(view);
      underWay.delete(event.data.inferenceId);
      const inference = inferences.get(event.data.inferenceId);
      if (inference === undefined) throw new Error(`no inference ${event.data.inferenceId} was requested`);
      inference.isOpen = false;
      if (isAside(inference.frame)) return;
      const output = event.data.output.map(blockFromJson).filter(entersTurn);
      for (const block of output) noteVersion(view.blame, block, recorded);
      turns.respond(inference.frame, output, actor);
      return;
    }
    case "InferenceFailed": {
      const { inferences, underWay } = openRun(view);
      const inference = inferences.get(event.data.inferenceId);
      if (inference !== undefined) {
        inference.isOpen = false;
        inference.isRejected = event.data.outcome === "rejected";
      }
      if (!waitingEnded.has(event.data.kind)) underWay.delete(event.data.inferenceId);
      return;
    }
    case "ToolStarted":
      openRun(view).turns.startTool(event.data.blockId);
      return;
    case "ToolFinished": {
      if (event.data.late === true) return;
      const result = blockFromJson(event.data.result);
      noteVersion(view.blame, result, recorded);
      openRun(view).turns.finishTool(event.data.blockId, result, actor);
      return;
    }
    default:
  }
}

/** Failures of the waiting for an answer, which say nothing of the response. */
const waitingEnded: ReadonlySet<string> = new Set([
  ...["aborted", "connection", "stream-cut", "provider-failed"],
  ...["body-too-large", "item-too-large", "stream-too-large", "answer-stalled"],
]);

/** Of a response that did not complete only the text enters the Turn (rule: Settings). */
export const entersTurn = (block: Block | BlockJson): boolean =>
  block.wire?.partial !== true || block.kind === "assistant";

function applyPass(
  run: OpenRun,
  pass: ConversationEventOf<"TurnEdited">["data"],
  recorded: RecordedEvent,
  blame: BlameView | null,
): void {
  const { turns } = run;
  const { actor } = recorded;
  const frame = recorded.frame ?? "0";
  const isRequest = pass.direction === "request";
  for (const block of blocksOfEdits(pass.edits).map(blockFromJson)) {
    // Written out although it was there before, it is another word of the provider's on the same content.
    if (turns.version(idOf(block), block.digest) === null) turns.addVersion(block, actor);
    if (!isAside(frame)) noteVersion(blame, block, recorded);
  }
  const before = turns.get(nameOf(pass.from));
  const after = applyEdits(before, pass.edits, ({ id, digest }) => turns.version(id, digest) ?? undefined);
  mustEqual(
    after.digest,
    pass.after,
    `the Turn that ${isRequest ? "was passed on to" : "came back from"} frame ${frame}`,
  );
  const base = nameOf(pass.base ?? pass.from);
  const target = isRequest ? (`given/${frame}` as const) : (`result/${frame}` as const);
  for (const id of turns.handOn(target, after, { base, actor })) run.removed.set(id, changeOf(recorded));
}

function endRun(view: ClientTurnView, after: string, how: "completed" | "unfinished", recorded: RecordedEvent): void {
  const run = openRun(view);
  const { turns } = run;
  const result = how === "completed" ? turns.get("result/0") : turns.unfinishedTurn();
  mustEqual(result.digest, after, "the Turn that the run ended with");
  const removals = how === "completed" ? turns.removalsBefore("result/0") : turns.removals;
  closeRun(view, run, { result, removals, recorded });
  const { id: runId, stream, startedRevision: from, pending } = run;
  if (asksNothing(run)) {
    noteUnasked(view.answers, turns.base, result);
    if (pending.length > 0) noteAppended(view.answers);
    return;
  }
  if (how === "unfinished") {
    noteTurn(view.answers, turns.base, view.committed);
    noteInterrupted(view, run, recorded.event.type === "RunFailed" ? "failed" : "cancelled");
    return;
  }
  const brought = countBrought(turns.base, result);
  const completed = { runId, stream, from, to: recorded.revision, brought };
  noteCompleted(view.answers, completed, { base: turns.base, result, pending });
}

/** A model that was never asked, or never heard it, was not interrupted. */
function noteInterrupted(
  { answers }: ClientTurnView,
  { id: runId, inferences }: OpenRun,
  how: Interruption["how"],
): void {
  const isHeard = [...inferences.values()].some(({ frame, isRejected }) => !isRejected && !isAside(frame));
  if (isHeard) answers.interrupted = { runId, how };
}

/** Whether the run only makes the Turn shorter: what was answered stays answered, and what waits for an answer waits. */
const asksNothing = ({ started }: OpenRun): boolean => started.compact?.only === true;

/**
 * A run that has no end of its own is as if it had been cancelled there (rule: Lineage): a fork begins in the middle of one, or an
 * event of it was skipped.
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
  noteResult(view.blame, { base: run.turns.base, result, removals, started }, recorded);
  view.committed = result.append(...run.pending);
  view.run = null;
}

/** The Turn was changed between two runs. */
function changeTurn(
  view: ClientTurnView,
  { edits, after }: ConversationEventOf<"TurnReverted" | "TurnCompacted">["data"],
  recorded: RecordedEvent,
): void {
  if (view.run !== null) throw new Error("the Turn was reverted or made shorter while a run was open");
  const base = view.committed;
  for (const block of blocksOfEdits(edits).map(blockFromJson)) noteVersion(view.blame, block, recorded);
  const result = applyEdits(base, edits, ({ id, digest }) => {
    const block = base.find(id);
    return block?.digest === digest ? block : undefined;
  });
  mustEqual(result.digest, after, "the Turn that was made of it");
  noteResult(view.blame, { base, result, removals: new Map(), started: recorded }, recorded);
  view.committed = result;
}

function openRun(view: ClientTurnView): OpenRun {
  if (view.run === null) throw new Error("no run is open");
  return view.run;
}

function nameOf(text: string): TurnName {
  if (text === "empty") return text;
  return text.startsWith("given/") ? `given/${text.slice(6)}` : `result/${text.slice(7)}`;
}

function mustEqual(actual: string, expected: string, what: string): void {
  if (actual !== expected) {
    throw new Error(`${what} has the digest ${actual.slice(0, 12)}…, but ${expected.slice(0, 12)}… was recorded`);
  }
}
