import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import { parentFrame } from "../../domain/frame.ts";
import type { Turn } from "../../domain/turn.ts";
import { blockOutlines, outlineOf, type TurnOutline } from "../../domain/turn-outline.ts";
import type { KnownFrames } from "../../projections/client-turn/known-frames.ts";
import type { OpenRun } from "../../projections/client-turn/open-run.ts";
import { turnIfEnded } from "../../projections/client-turn/recovery-results.ts";
import { type Waiting, waitingIn } from "../../projections/views/waiting.ts";

function frameNotFound(frame: string, runId: string, frames: KnownFrames): TurnlogError {
  let above = frame.includes(".") ? parentFrame(frame) : "0";
  while (!frames.has(above)) above = above.includes(".") ? parentFrame(above) : "0";
  const calls = frames.calls(above);
  const known =
    calls === 0
      ? "has made no call"
      : `has made the calls ${[...new Set([0, calls - 1])].map((n) => `${above}.${n}`).join(" to ")}`;
  return new TurnlogError("frame-not-found", `there is no frame '${frame}' of ${runId} yet: frame ${above} ${known}`);
}

/** A run that is open at a revision (rule: Past revisions); its Turns have their contents, or are outlines if no contents were read. */
export type PastRun<AnyTurn extends TurnOutline = Turn> = {
  readonly id: string;
  /** A parked run has no owner: it goes on once nothing is left of what it waits for. */
  readonly state: "open" | "parked";
  readonly startedRevision: number;
  /** How often it was resumed after its process had ended. */
  readonly resumptions: number;
  /** What it waits for, as the log has it here: also approvals whose time is over by now. */
  readonly waitingFor: readonly Waiting[];
  /** Tool calls without an answer so far. */
  readonly calls: AnyTurn["blocks"];
  /** The Turn that the newest event handed on: to a frame, or back from one. */
  readonly handedOn: AnyTurn;
  /**
   * The newest Turn at a frame: what it returned, or what it was given; by default at the frame of this event.
   *
   * @throws {TurnlogError} `frame-not-found` if the run has not reached that frame.
   */
  working(frame?: string): AnyTurn;
  /**
   * The Turn that a frame was given: for a frame of the core, what its request is meant to show the model.
   *
   * @throws {TurnlogError} `frame-not-found` if the run has not reached that frame.
   */
  outgoing(frame?: string): AnyTurn;
  /** Blocks that were appended meanwhile: they enter the Turn when the run ends. */
  readonly pending: AnyTurn["blocks"];
  /** The Turn if the run were cancelled here (rule: Runs that do not complete): a fork of this revision begins with it. */
  readonly ifEndedHere: AnyTurn;
};

/** How Turns and blocks are shown: whole, or without their contents. */
type Shown<AnyTurn extends TurnOutline> = {
  readonly turn: (turn: Turn) => AnyTurn;
  readonly blocks: (blocks: readonly Block[]) => AnyTurn["blocks"];
};

/** The open run at an event of this frame, with the contents of its blocks. */
export const pastRun = (run: OpenRun, here: string | null): PastRun =>
  runAt(run, here, { turn: (turn) => turn.frozen(), blocks: (blocks) => blocks });

/** The same from a fold that did not read all contents. */
export const pastRunOutline = (run: OpenRun, here: string | null): PastRun<TurnOutline> =>
  runAt(run, here, { turn: outlineOf, blocks: blockOutlines });

function runAt<AnyTurn extends TurnOutline>(
  run: OpenRun,
  here: string | null,
  shown: Shown<AnyTurn>,
): PastRun<AnyTurn> {
  const { id, turns, startedRevision, pending, epoch } = run;
  const known = (frame: string): string => {
    if (!run.frames.has(frame)) throw frameNotFound(frame, id, run.frames);
    return frame;
  };
  return {
    id,
    state: run.owner === null ? "parked" : "open",
    startedRevision,
    resumptions: epoch,
    waitingFor: waitingIn(run, ""),
    get calls() {
      return shown.blocks(turns.openCalls);
    },
    get handedOn() {
      return shown.turn(turns.get(turns.newest));
    },
    working: (frame = here ?? "0") => shown.turn(turns.working(known(frame))),
    outgoing: (frame = here ?? "0") => shown.turn(turns.given(known(frame))),
    get pending() {
      return shown.blocks(pending);
    },
    get ifEndedHere() {
      return shown.turn(turnIfEnded(id, turns).append(...pending));
    },
  };
}
