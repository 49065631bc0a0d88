import { setTimeout as sleep } from "node:timers/promises";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { StoreClosedError } from "../../log/ports/store-errors.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { RunParkedError, runTakenOver } from "../session/errors.ts";
import { engineActor, type RunSession } from "../session/session.ts";
import type { OnSession } from "./run.ts";
import { watchRun } from "./run-watch.ts";

/** A run that this process executes. */
type OngoingRun = { readonly session: RunSession; readonly ended: Promise<unknown> };

/** The runs of a store object in this process, and whether the store is closing: then no new run begins. */
type OngoingRuns = { readonly runs: Set<OngoingRun>; isClosing: boolean };

const ongoingByLog = new WeakMap<EventLog, OngoingRuns>();

function ongoingOf(log: EventLog): OngoingRuns {
  const known = ongoingByLog.get(log);
  if (known !== undefined) return known;
  const ongoing = { runs: new Set<OngoingRun>(), isClosing: false };
  ongoingByLog.set(log, ongoing);
  return ongoing;
}

/**
 * Executes a run so that closing the store parks it, and so that others can cancel it or take it over. `execute` passes on its session
 * before the run's first event.
 *
 * @throws {StoreClosedError} if the store is closing.
 */
export async function parkable<T>(
  stream: Pick<ConversationWriter, "name" | "log" | "refresh">,
  execute: (onSession: OnSession) => Promise<T>,
): Promise<T> {
  const { log } = stream;
  const ongoing = ongoingOf(log);
  if (ongoing.isClosing) throw new StoreClosedError("the store is closing: it starts no more runs");
  const done = Promise.withResolvers<undefined>();
  let forget = (): void => undefined;
  try {
    return await execute((session, others) => {
      const { id: runId, recorder } = session.run;
      const run = { session, ended: done.promise };
      const unwatch = watchRun({ ...others, stream, runId, lose: () => recorder.fail(runTakenOver(runId)) });
      ongoing.runs.add(run);
      forget = () => {
        ongoing.runs.delete(run);
        unwatch();
      };
    });
  } finally {
    forget();
    done.resolve(undefined);
  }
}

/**
 * Ends this process's part of all runs of a store that is about to be closed: aborts the work under way, waits for it, and leaves each run
 * open, without an owner, as its log has it then. The next `run` continues it.
 */
export async function parkRuns(log: EventLog, graceMs: number): Promise<void> {
  const ongoing = ongoingOf(log);
  ongoing.isClosing = true;
  const appendMs = log.store.deadlineMs ?? defaultAppendMs;
  await Promise.all([...ongoing.runs].map((run) => park(run, { graceMs, appendMs })));
}

/** How long closing waits for one append, if the store has no deadline. */
const defaultAppendMs = 5_000;

type Waits = { readonly graceMs: number; readonly appendMs: number };

async function park({ session, ended }: OngoingRun, { graceMs, appendMs }: Waits): Promise<void> {
  const { id: runId, recorder, calls, tracing } = session.run;
  const [isLeft] = await Promise.all([
    within(appendMs, recorder.park(new RunParkedError(runId))),
    within(graceMs, Promise.allSettled([ended, ...calls.underWay])),
  ]);
  // After an append that does not answer, nothing can be recorded either.
  if (isLeft !== true) {
    tracing?.close();
    return;
  }
  const event: ProposedEvent["event"] = { type: "RunParked", version: 1, data: { blockIds: [] } };
  const entries = [...recorder.takeUnwritten(), { event, actor: engineActor, runId, frame: "0" }];
  // If this fails, the run stays as its log has it: the owner's lease ends with the store.
  await within(
    appendMs,
    recorder.recordEnd(entries).catch(() => undefined),
  );
  tracing?.close();
}

/** The result of the work; undefined if it takes longer. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const timer = new AbortController();
  try {
    return await Promise.race([work, sleep(ms, undefined, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}
