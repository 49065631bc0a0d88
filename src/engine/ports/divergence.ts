import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Turn } from "../../domain/turn.ts";
import { equalBeginning } from "../../domain/turn-difference.ts";

/** Where a re-execution diverged from the log. */
export type DivergencePlace = {
  /** The frame where the divergence was noticed. */
  readonly frame: string;
  /** The event that differs; null if the log has none. */
  readonly revision: number | null;
  /** Which member of that event differs. */
  readonly field: string;
  /** The direction, if a Turn was handed on. */
  readonly direction?: "request" | "response" | null;
  /** The first block of the request that differs; null if it was not a request. */
  readonly blockIndex?: number | null;
  /** The layer that handed on something else; null if unknown. */
  readonly layer?: string | null;
};

/**
 * The re-execution of a run does not do what the log says: a layer has changed, or uses a clock, randomness or the outside world without
 * the engine. Nothing was sent and nothing was written.
 */
export class ReplayDivergedError extends TurnlogError<"replay-diverged"> {
  override readonly name = "ReplayDivergedError";
  /** The difference, without its place. */
  readonly what: string;
  readonly frame: string;
  readonly revision: number | null;
  readonly field: string;
  readonly direction: "request" | "response" | null;
  readonly blockIndex: number | null;
  readonly layer: string | null;

  constructor(what: string, place: DivergencePlace, options?: ErrorOptions) {
    const { frame, revision, field, direction = null, blockIndex = null, layer = null } = place;
    const by = layer === null ? "" : `, layer ${layer}`;
    const where = revision === null ? "" : ` (revision ${revision})`;
    super("replay-diverged", `the re-execution differs from the log at frame ${frame}${by}${where}: ${what}`, options);
    this.what = what;
    this.layer = layer;
    this.frame = frame;
    this.revision = revision;
    this.field = field;
    this.direction = direction;
    this.blockIndex = blockIndex;
  }
}

/** The same divergence, for the caller who wanted the run finished, with the ways out. */
export function divergedIn(runId: string, cause: ReplayDivergedError): ReplayDivergedError {
  const { what, ...place } = cause;
  const out = `run ${runId} continues only with the layers that it began with; onDiverged: "abandon" abandons it (in a shell: turnlog resume --abandon)`;
  return new ReplayDivergedError(`${what}; ${out}`, place, { cause });
}

/**
 * The place in the stack of the layer that handed on at a frame: of a response, the frame's layer; of a request, the layer above. If the
 * question is whether something was asked at all, it is the innermost layer that called more than once.
 */
export function layerIndex(frame: string, direction: "request" | "response" | null): number {
  const numbers = frame.split(".");
  if (direction !== null) return numbers.length - (direction === "request" ? 2 : 1);
  return numbers.findLastIndex((number) => number !== "0") - 1;
}

/** The first block in which a Turn differs from the recorded one: its place and its id. */
export type FirstBlock = { readonly blockIndex: number; readonly id: string };

export function firstDifference(recorded: Turn, turn: Turn): FirstBlock {
  const blockIndex = equalBeginning(recorded, turn);
  return { blockIndex, id: (turn.at(blockIndex) ?? recorded.at(blockIndex))?.id ?? "none" };
}
