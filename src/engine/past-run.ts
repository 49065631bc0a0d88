import type { Block } from "../domain/block.ts";
import type { BlockId } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import type { OpenRun } from "../projections/client-turn.ts";
import { turnIfEnded } from "../projections/recovery-results.ts";

/** A run that is open at a revision (MODEL 12). */
export type PastRun = {
  readonly id: string;
  /** A parked run has no owner: it waits until somebody settles what is in doubt. */
  readonly state: "open" | "parked";
  readonly startedRevision: number;
  /** How often it was taken up after its process had ended. */
  readonly resumptions: number;
  /** Calls and effects of layers that nobody knows the end of, by id: their names. */
  readonly inDoubt: ReadonlyMap<BlockId, string>;
  /** Tool calls that are not answered yet. */
  readonly calls: readonly Block[];
  /** The newest Turn at a frame: what it returned, or what it was given; by default at the frame of this event. */
  working(frame?: string): Turn;
  /** What a frame was given: of a frame of the core, what its request is meant to show the model. */
  outgoing(frame?: string): Turn;
  /** Blocks that were appended meanwhile: in the Turn once the run has ended. */
  readonly pending: readonly Block[];
  /** The Turn had the run been cancelled here (MODEL 9): what a fork of this revision begins with. */
  readonly ifEndedHere: Turn;
};

/** The open run as it stood at an event of this frame. */
export function pastRun(run: OpenRun, here: string | null): PastRun {
  const { id, turns, startedRevision, pending, inDoubt, epoch } = run;
  const at = here ?? "0";
  return {
    id,
    state: run.owner === null ? "parked" : "open",
    startedRevision,
    resumptions: epoch,
    inDoubt,
    get calls() {
      return turns.openCalls;
    },
    working: (frame = at) => turns.working(frame),
    outgoing: (frame = at) => turns.given(frame),
    pending,
    get ifEndedHere() {
      return turnIfEnded(id, turns).append(...pending);
    },
  };
}
