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
  /** Which ownership of the run this process's is. */
  readonly epoch: number;
  readonly cancel: (request: CancelRequest) => void;
  /** Another process owns the run now. */
  readonly lose: () => void;
};

/** Most runs have ended by then: they cost no subscription. */
const watchAfterMs = 250;
/** After a subscription that failed: a store that is not there says so to the runs themselves. */
const againAfterMs = 1_000;

const watches = new WeakMap<EventLog, RunWatch>();

/** Ends a run when the log says that someone else wants that, or has taken it. Gives what ends the watching. */
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

/** One subscription for all runs of a store object, while there are any. */
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
        // What was asked for before that place, the runs' own streams tell.
        for (const run of this.#runs.values()) void look(run);
        const from = after === null ? {} : { after };
        for await (const envelope of this.#log.store.subscribe({ ...from, signal })) {
          const { type, runId = "" } = envelope;
          const run = this.#runs.get(runId);
          if (run !== undefined && type === "RunCancelRequested") void look(run);
          if (run !== undefined && type === "RunResumed") await this.#compare(run, envelope);
        }
      } catch {
        // A store that cannot be read is no reason to end a run.
      }
    }
  }

  /** Who owns a run now, its newest owner says, whether or not that has ended it since. */
  async #compare({ epoch, lose }: Watched, envelope: StoredEnvelope): Promise<void> {
    const read = await lookAt(this.#log, envelope);
    if (!(read instanceof Error) && read.event.type === "RunResumed" && read.event.data.epoch > epoch) lose();
  }

  /** The place of the newest event of a stream: what is subscribed to from there is not the whole log. */
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
    // The run's own next append meets the same, and tells it.
  }
}

const requestOf = ({ reason, actor }: { readonly reason: string; readonly actor: Actor }): CancelRequest =>
  new CancelRequest(reason, actor);
