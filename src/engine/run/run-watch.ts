import { setTimeout as sleep } from "node:timers/promises";
import type { Actor } from "../../domain/actor.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { lookAt } from "../../log/history/read-events.ts";
import type { StoredEnvelope } from "../../log/ports/event-store.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { CancelRequest } from "../session/errors.ts";

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
export function watchRun(run: Watched): () => void {
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
