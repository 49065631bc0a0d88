import type { Owner } from "../../domain/events/run-events.ts";
import { thisProcess } from "./owner.ts";

/** Another run of the conversation is open, and its owner lives. */
export class RunInProgressError extends Error {
  override readonly name = "RunInProgressError";
  readonly code = "run-in-progress";
  readonly runId: string;
  readonly owner: Owner | null;

  constructor(runId: string, owner: Owner | null) {
    const by = owner === null ? "" : ` by process ${owner.pid} on ${owner.host}`;
    const isHere = owner?.processId === thisProcess.processId;
    const how = isHere ? "abort it" : "take it with `takeover: true` if that process hangs or is gone";
    super(`run ${runId} is in progress${by}; wait for it, or ${how}`);
    this.runId = runId;
    this.owner = owner;
  }
}
