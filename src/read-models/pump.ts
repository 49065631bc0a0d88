import { comparePositions, type EventStore, ofStream, type StoredEnvelope } from "../log/ports/event-store.ts";
import type { Checkpoint } from "../log/ports/view-store.ts";
import type { ViewFold } from "./fold.ts";

/** The events that a projector follows: those of all conversations, or of one stream. */
export type EventSource = {
  /** What comes after a checkpoint, to the end as it is when the reading gets there. */
  readonly read: (after: Checkpoint | null, signal?: AbortSignal) => AsyncIterable<StoredEnvelope>;
  /** The same, then every event as it comes, until the signal aborts. */
  readonly follow: (after: Checkpoint | null, signal: AbortSignal) => AsyncIterable<StoredEnvelope>;
};

const conversations = "conversation-";

export function createSource(store: EventStore, stream: string | null): EventSource {
  const place = (after: Checkpoint | null) => ({
    streamPrefix: stream ?? conversations,
    ...(after === null ? {} : { after: after.position }),
  });
  return {
    read: (after, signal) => {
      const options = signal === undefined ? {} : { signal };
      return stream === null
        ? store.readLog({ ...place(after), ...options })
        : store.readStream(stream, { from: (after?.revision ?? -1) + 1, ...options });
    },
    follow: (after, signal) => {
      const options = { ...place(after), signal };
      return stream === null ? store.subscribe(options) : ofStream(store.subscribe({ ...options, stream }), stream);
    },
  };
}

/** How much a projector takes in before it saves: no more than that is in memory, or folded again after a crash. */
type PumpLimits = {
  readonly maxEvents: number;
  /** How long a live event waits to be saved. */
  readonly saveWithinMs: number;
};

export type PumpOptions = PumpLimits & {
  readonly signal: AbortSignal | undefined;
  /** Is told of every save. */
  readonly onSaved: () => void;
};

/**
 * `done` when there is no more to take in, `aborted` when the signal said so; `disturbed` when another process came first: to go on
 * is to begin with what that one saved.
 */
export type PumpOutcome = "done" | "aborted" | "disturbed";

/** Takes in what is there, in batches; the next one is read when the one before is saved. */
export async function catchUp<View>(
  fold: ViewFold<View>,
  source: EventSource,
  options: PumpOptions,
): Promise<PumpOutcome> {
  const { signal, maxEvents } = options;
  try {
    for await (const envelope of source.read(fold.checkpoint, signal)) {
      if (signal?.aborted === true) break;
      await takeNew(fold, envelope);
      if (fold.unsaved >= maxEvents && !(await save(fold, options))) return "disturbed";
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
  if (!(await save(fold, options))) return "disturbed";
  return signal?.aborted === true ? "aborted" : "done";
}

/**
 * Takes in what comes, until the signal aborts. An event is in its view at once; it is saved with those that come within a
 * moment, or a writer would wait for the disk twice.
 */
export async function goLive<View>(
  fold: ViewFold<View>,
  source: EventSource,
  options: PumpOptions & { readonly signal: AbortSignal },
): Promise<PumpOutcome> {
  const { maxEvents, saveWithinMs } = options;
  const left = new AbortController();
  const signal = AbortSignal.any([options.signal, left.signal]);
  const events = source.follow(fold.checkpoint, signal)[Symbol.asyncIterator]();
  const alarm = createAlarm(saveWithinMs);
  try {
    for (let next = events.next(); ; ) {
      const event = fold.unsaved === 0 ? await next : await Promise.race([next, alarm.rings()]);
      const isOver = event !== null && event.done === true;
      if (event !== null && !isOver) {
        await takeNew(fold, event.value);
        next = events.next();
        // Where saving fails first, nobody asks for it any more.
        next.catch(() => undefined);
      }
      if (event !== null && !isOver && fold.unsaved < maxEvents) continue;
      alarm.stop();
      if (!(await save(fold, options))) return "disturbed";
      if (isOver) return options.signal.aborted ? "aborted" : "done";
    }
  } finally {
    alarm.stop();
    left.abort();
    await events.return?.();
  }
}

/** Events that were seen may come again, and change nothing. */
function takeNew<View>(fold: ViewFold<View>, envelope: StoredEnvelope): Promise<void> | null {
  const { checkpoint } = fold;
  const isSeen = checkpoint !== null && comparePositions(envelope.position, checkpoint.position) <= 0;
  return isSeen ? null : fold.take(envelope);
}

async function save<View>(fold: ViewFold<View>, { onSaved }: PumpOptions): Promise<boolean> {
  if (fold.unsaved === 0) return true;
  const isSaved = await fold.save();
  if (isSaved) onSaved();
  return isSaved;
}

/** Rings once, so many milliseconds after it was first asked to. */
function createAlarm(ms: number) {
  let timer: NodeJS.Timeout | undefined;
  let ringing: Promise<null> | null = null;
  return {
    rings(): Promise<null> {
      ringing ??= new Promise((resolve) => {
        timer = setTimeout(resolve, ms, null);
      });
      return ringing;
    },
    stop(): void {
      clearTimeout(timer);
      ringing = null;
    },
  };
}
