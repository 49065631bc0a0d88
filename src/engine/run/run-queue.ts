import { AsyncLocalStorage } from "node:async_hooks";
import { innerSignal, rejectionOf } from "../../base/abort.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { RunInProgressError, thisProcess } from "../../log/writer/owner.ts";
import { RunCancelledError } from "../session/errors.ts";

/** A conversation that is running, and the run from which this one began. */
type Running = { readonly conversation: string; readonly outer: Running | null; hasEnded: boolean };

/** The run that the current code is part of: layers, tools, effects, and what they call. */
const within = new AsyncLocalStorage<Running | null>();

/** The end of the queue of each conversation that is running. */
const lines = new Map<string, { readonly runId: string; readonly end: Promise<unknown> }>();

export type QueueOptions = {
  readonly runId: string;
  readonly whileRunning?: "wait" | "throw" | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Executes the runs of one conversation in this process one after another, in the order of the calls.
 *
 * @throws {RunInProgressError} instead of waiting, if `whileRunning` is `throw`.
 * @throws {TurnlogError} `run-within-run` for a run that a run of the same conversation waits for.
 * @throws {RunCancelledError} if the signal aborts while this run waits.
 */
export async function oneAfterAnother<T>(
  conversation: string,
  { runId, whileRunning = "wait", signal }: QueueOptions,
  work: () => Promise<T>,
): Promise<T> {
  const outer = within.getStore() ?? null;
  for (let at = outer; at !== null; at = at.outer) {
    if (at.conversation === conversation && !at.hasEnded)
      throw new TurnlogError(
        "run-within-run",
        `a tool, layer or handler of a run of ${conversation} started another run of the same conversation and waits for it; run a child or a fork there, or start the run after this one has ended`,
      );
  }
  const before = lines.get(conversation);
  if (before !== undefined && whileRunning === "throw") throw new RunInProgressError(before.runId, thisProcess());
  const done = Promise.withResolvers<undefined>();
  const mine = { runId, end: Promise.resolve(before?.end).then(() => done.promise) };
  lines.set(conversation, mine);
  const running: Running = { conversation, outer, hasEnded: false };
  try {
    if (before !== undefined) await waitFor(before.end, { runId, signal });
    return await within.run(running, work);
  } finally {
    running.hasEnded = true;
    done.resolve(undefined);
    if (lines.get(conversation) === mine) lines.delete(conversation);
  }
}

/** Whether a run of the conversation is executing or queued in this process. */
export const runsHere = (conversation: string): boolean => lines.has(conversation);

/** Calls code that no run waits for, so it may begin runs. */
export const outsideOfRuns = <T>(call: () => T): T => within.run(null, call);

async function waitFor(end: Promise<unknown>, { runId, signal: outer }: QueueOptions): Promise<void> {
  const { signal, end: leave } = innerSignal(outer ?? new AbortController().signal);
  try {
    await Promise.race([end, rejectionOf(signal)]);
  } catch (reason) {
    throw new RunCancelledError(runId, reason);
  } finally {
    leave(new Error("the run's turn has come"));
  }
}
