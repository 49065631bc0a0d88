import { comparePositions, type EventStore, ofStream, type StoredEnvelope } from "../ports/event-store.ts";
import type { Checkpoint } from "../ports/view-store.ts";
import type { ViewFold } from "./fold.ts";

/** The events that a projector follows: those of all conversations, or of one stream. */
export type EventSource = {
  /** The events after a checkpoint, up to the end of the log when the read reaches it. */
  readonly read: (after: Checkpoint | null, signal?: AbortSignal) => AsyncIterable<StoredEnvelope>;
  /** The same, then every new event, until the signal aborts. */
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

/**
 * How many views a save writes at most, unless one event changes more: this limits memory, and how long other writers to the same file
 * wait.
 */
const maxViews = 512;

type PumpLimits = {
  /** How many events a projector applies before it saves: this limits what is folded again after a crash. */
  readonly maxEvents: number;
  /** How long a live event waits to be saved. */
  readonly saveWithinMs: number;
};

export type PumpOptions = PumpLimits & {
  readonly signal: AbortSignal | undefined;
  /** Called after every save. */
  readonly onSaved: () => void;
};

/**
 * `done`: no more events. `aborted`: the signal aborted. `disturbed`: another process saved first, so begin again
 * with what it saved.
 */
export type PumpOutcome = "done" | "aborted" | "disturbed";

/** Applies existing events in batches; each is read after the one before was saved. */
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
      if (isFull(fold, maxEvents) && !(await save(fold, options))) return "disturbed";
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
  if (!(await save(fold, options))) return "disturbed";
  return signal?.aborted === true ? "aborted" : "done";
}

/**
 * Applies new events until the signal aborts. An event is in its view at once. It is saved a moment later, together with other new
 * events, so that a writer does not wait for the disk twice.
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
        // If saving fails first, no caller awaits it any more.
        next.catch(() => undefined);
      }
      if (event !== null && !isOver && !isFull(fold, maxEvents)) continue;
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

const isFull = <View>({ unsaved, unsavedViews }: ViewFold<View>, maxEvents: number): boolean =>
  unsaved >= maxEvents || unsavedViews >= maxViews;

/** Events already applied may come again, and change nothing. */
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

/** Fires once, `ms` milliseconds after the first request. */
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
