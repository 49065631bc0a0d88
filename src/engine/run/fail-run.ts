import { messageOf } from "../../base/error-message.ts";
import type { RunFailedPart } from "../options/run-part.ts";
import { LayerError } from "../ports/middleware.ts";
import { ProviderError } from "../ports/provider-error.ts";
import { ConversationMovedError, RunCancelledError, RunFailedError, type Thrower } from "../session/errors.ts";
import { isRefusal, type UnstorableEvent } from "../session/recorder.ts";
import { engineActor, type LiveRun, type RunSession, takeTimings } from "../session/session.ts";
import { cancelUnderWay, closingEntries } from "./close.ts";

/** Records how the run ended, if that can still be recorded, and shows it; returns the error to throw. */
export async function failRun(session: RunSession, error: unknown): Promise<unknown> {
  const thrown = await endFailed(session, error);
  const part = failedPart(session, thrown);
  if (part !== null) session.run.emit(part);
  return thrown;
}

async function endFailed(session: RunSession, error: unknown): Promise<unknown> {
  const { run, engine } = session;
  const { id: runId, fold, recorder, signal } = run;
  if (isRefusal(recorder.failure)) return endRefused(session, recorder.failure, error);
  if (recorder.failure !== null) return recorder.failure;
  const how = signal.aborted
    ? ({ type: "RunCancelled", reason: messageOf(signal.reason) } as const)
    : ({
        type: "RunFailed",
        kind: failureKind(error),
        message: messageOf(error),
        ...thrownBy(run, error),
      } as const);
  try {
    // The results for open calls depend on everything that the run did.
    run.journal.mustBeConsumed();
    const entries = closingEntries({ runId, turns: fold.turns, how, actor: engineActor, ...takeTimings(run) });
    for (const { event, actor } of entries) recorder.record(event, { actor, frame: "0" });
    const { run: open } = fold.view.client;
    await recorder.flush();
    await cancelUnderWay(open, engine);
  } catch (failure) {
    return failure;
  }
  return signal.aborted
    ? new RunCancelledError(runId, signal.reason)
    : new RunFailedError(runId, failureKind(error), error, run.layers.thrown.throwerOf(error));
}

/**
 * Ends a run of which an event could not be recorded, as its log has it: an open run would count as ongoing. A run that had not begun needs
 * no end.
 */
async function endRefused({ run, engine }: RunSession, failure: UnstorableEvent, error: unknown): Promise<Error> {
  const { id: runId, fold, recorder } = run;
  await recorder.recordUpToRefused();
  const { run: open } = fold.view.client;
  if (open?.id !== runId) return failure;
  const told = { kind: failure.code, message: failure.message, ...thrownBy(run, error) };
  const how = { type: "RunFailed", ...told } as const;
  await recorder.recordEnd(closingEntries({ runId, turns: open.turns, how, actor: engineActor }));
  await cancelUnderWay(open, engine);
  return new RunFailedError(runId, failure.code, failure, run.layers.thrown.throwerOf(error));
}

function thrownBy({ layers: { thrown } }: LiveRun, error: unknown): { readonly thrownBy?: Thrower } {
  const thrower = thrown.throwerOf(error);
  return thrower === null ? {} : { thrownBy: thrower };
}

function failureKind(error: unknown): string {
  if (error instanceof ProviderError) return error.kind;
  if (error instanceof LayerError) return error.code;
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "layer-failed";
}

/** How a run ended with an error in this process; null if nothing had begun and it begins again. */
function failedPart({ run: { recorder } }: RunSession, thrown: unknown): RunFailedPart | null {
  if (thrown instanceof ConversationMovedError) return null;
  const hasEnded = recorder.failure === null || isRefusal(recorder.failure);
  const told = { type: "run-failed", message: messageOf(thrown) } as const;
  if (hasEnded && thrown instanceof RunFailedError) {
    const { kind, layer, frame } = thrown;
    return { ...told, outcome: "failed", kind, thrownBy: layer === null || frame === null ? null : { layer, frame } };
  }
  const outcome = !hasEnded ? "left-open" : thrown instanceof RunCancelledError ? "cancelled" : "failed";
  return { ...told, outcome, kind: codeOf(thrown), thrownBy: null };
}

const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "unknown";
