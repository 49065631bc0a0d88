import type { Owner } from "../../domain/events/run-events.ts";

/** Another run of the conversation is open, and its owner lives. */
export class RunInProgressError extends Error {
  override readonly name = "RunInProgressError";
  readonly code = "run-in-progress";
  readonly runId: string;
  readonly owner: Owner | null;

  constructor(runId: string, owner: Owner | null) {
    const by = owner === null ? "" : ` by process ${owner.pid} on ${owner.host}`;
    super(`run ${runId} is in progress${by}; wait for it, or abort it`);
    this.runId = runId;
    this.owner = owner;
  }
}

/** Someone else ended or took over the run: nothing more was written for it. */
export class RunTakenOverError extends Error {
  override readonly name = "RunTakenOverError";
  readonly code = "run-taken-over";
}

/** The run failed; what it did is in the log, and the conversation can go on. `cause` says why. */
export class RunFailedError extends Error {
  override readonly name = "RunFailedError";
  readonly code = "run-failed";
  readonly runId: string;
  readonly kind: string;

  constructor(runId: string, kind: string, cause: unknown) {
    super(`run ${runId} failed (${kind}): ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.runId = runId;
    this.kind = kind;
  }
}

/** The run was aborted by its caller. */
export class RunCancelledError extends Error {
  override readonly name = "RunCancelledError";
  readonly code = "run-cancelled";
  readonly runId: string;

  constructor(runId: string, cause: unknown) {
    super(`run ${runId} was cancelled`, { cause });
    this.runId = runId;
  }
}

/** The tool loop asked the model as often as it may, and it still calls tools. */
export class IterationLimitError extends Error {
  override readonly name = "IterationLimitError";
  readonly code = "iteration-limit";

  constructor(iterationsMax: number) {
    super(
      `the model still called tools after ${iterationsMax} requests; raise iterationsMax, or look at the tools' answers`,
    );
  }
}

/** Nothing of the Turn can be sent to this endpoint: all of it belongs to others, or answers calls that are not there. */
export class NothingToSendError extends Error {
  override readonly name = "NothingToSendError";
  readonly code = "nothing-to-send";

  constructor(blocks: number) {
    super(`none of the Turn's ${blocks} blocks can be sent to this endpoint; append a message`);
  }
}
