import { setTimeout as sleep } from "node:timers/promises";
import type { Actor } from "../../domain/actor.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { lookAt } from "../../log/history/read-events.ts";
import type { StoredEnvelope } from "../../log/ports/event-store.ts";
import { StoreClosedError } from "../../log/ports/store-errors.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { CancelRequest, RunParkedError, runTakenOver } from "../session/errors.ts";
import { engineActor, type RunSession } from "../session/session.ts";
import type { OnSession } from "./run.ts";

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

/** A run of this process, and how others end it. */
type Watched = {
  readonly stream: Pick<ConversationWriter, "name" | "log" | "refresh">;
  readonly runId: string;
  /** The epoch of this process's ownership. */
  readonly epoch: number;
  readonly cancel: (request: CancelRequest) => void;
  /** Called when another process owns the run. */
  readonly lose: () => void;
};

/** Most runs have ended by then, and cost no subscription. */
const watchAfterMs = 250;
/** The delay after a failed subscription: the runs notice an unavailable store themselves. */
const againAfterMs = 1_000;

const watches = new WeakMap<EventLog, RunWatch>();

/** Ends a run when the log says that someone else cancels it or has taken it over. Returns a function that stops the watching. */
function watchRun(run: Watched): () => void {
  const { log } = run.stream;
  const watch = watches.get(log) ?? new RunWatch(log);
  watches.set(log, watch);
  const timer = setTimeout(() => watch.add(run), watchAfterMs).unref();
  return () => {
    clearTimeout(timer);
    watch.delete(run);
  };
}

/** One subscription for all runs of a store object, as long as there are any. */
class RunWatch {
  readonly #log: EventLog;
  readonly #runs = new Map<string, Watched>();
  #reading: AbortController | null = null;

  constructor(log: EventLog) {
    this.#log = log;
  }

  add(run: Watched): void {
    this.#runs.set(run.runId, run);
    if (this.#reading === null) {
      this.#reading = new AbortController();
      void this.#read(run.stream.name, this.#reading.signal);
    } else void look(run);
  }

  delete({ runId }: Watched): void {
    this.#runs.delete(runId);
    if (this.#runs.size > 0) return;
    this.#reading?.abort();
    this.#reading = null;
  }

  async #read(stream: string, signal: AbortSignal): Promise<void> {
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        if (!isFirst) await sleep(againAfterMs, undefined, { signal, ref: false });
        const after = await this.#placeOf(stream);
        // Requests before that place are in the runs' own streams.
        for (const run of this.#runs.values()) void look(run);
        const from = after === null ? {} : { after };
        for await (const envelope of this.#log.store.subscribe({ ...from, signal })) {
          const { type, runId = "" } = envelope;
          const run = this.#runs.get(runId);
          if (run !== undefined && type === "RunCancelRequested") void look(run);
          if (run !== undefined && type === "RunResumed") await this.#compare(run, envelope);
        }
      } catch {
        // A store that cannot be read is not a reason to end a run.
      }
    }
  }

  /** A newer owner's event says that it owns the run, even if it has ended the run since. */
  async #compare({ epoch, lose }: Watched, envelope: StoredEnvelope): Promise<void> {
    const read = await lookAt(this.#log, envelope);
    if (!(read instanceof Error) && read.event.type === "RunResumed" && read.event.data.epoch > epoch) lose();
  }

  /** The position of a stream's newest event: a subscription from there does not read the whole log. */
  async #placeOf(stream: string): Promise<string | null> {
    for await (const { position } of this.#log.store.readStream(stream, { direction: "backwards", limit: 1 }))
      return position;
    return null;
  }
}

async function look({ stream, runId, epoch, cancel, lose }: Watched): Promise<void> {
  try {
    const { run } = (await stream.refresh()).client;
    if (run?.id !== runId) return;
    if (run.epoch > epoch) lose();
    else if (run.cancelRequest !== null) cancel(requestOf(run.cancelRequest));
  } catch {
    // The run's own next append meets the same error and reports it.
  }
}

const requestOf = ({ reason, actor }: { readonly reason: string; readonly actor: Actor }): CancelRequest =>
  new CancelRequest(reason, actor);
