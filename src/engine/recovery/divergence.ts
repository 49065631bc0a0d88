/** Where a re-execution left the way of the run. */
type DivergencePlace = {
  /** The frame where it was noticed. */
  readonly frame: string;
  /** The event that says otherwise; null where the log has none. */
  readonly revision: number | null;
  /** Which member of that event differs. */
  readonly field: string;
  /** Of a Turn that was handed on: which way. */
  readonly direction?: "request" | "response" | null;
  /** The first block of the request that differs; null where it was no request. */
  readonly blockIndex?: number | null;
};

/**
 * The re-execution of a run does something else than the log says it did: a layer that is another one, or that asks clocks,
 * chance or the world behind the engine's back. Nothing was sent and nothing was written.
 */
export class ReplayDivergedError extends Error {
  override readonly name = "ReplayDivergedError";
  readonly code = "replay-diverged";
  readonly frame: string;
  readonly revision: number | null;
  readonly field: string;
  readonly direction: "request" | "response" | null;
  readonly blockIndex: number | null;

  constructor(what: string, { frame, revision, field, direction = null, blockIndex = null }: DivergencePlace) {
    const where = revision === null ? "" : ` (revision ${revision})`;
    super(`the re-execution differs from the log at frame ${frame}${where}: ${what}`);
    this.frame = frame;
    this.revision = revision;
    this.field = field;
    this.direction = direction;
    this.blockIndex = blockIndex;
  }
}
