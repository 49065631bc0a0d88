import { createNotifier } from "./notifier.ts";

/** One follower's buffer of new events, up to a limit. */
export type Tap<Event> = {
  /** Buffers an event for `next`; false if the buffer is full, from then on. */
  readonly offer: (event: Event) => boolean;
  /** Whether an event did not fit. */
  readonly isBehind: () => boolean;
  readonly fail: (error: unknown) => void;
  /**
   * The buffered events, or the next new ones. Null when the signal aborts, or when the buffer overflowed and its events were taken: then
   * the follower must read the rest.
   */
  readonly next: (signal: AbortSignal) => Promise<readonly Event[] | null>;
};

/** How many events to buffer for a slow follower. */
const maxEvents = 512;

export function createTap<Event>(): Tap<Event> {
  const wake = createNotifier();
  let waiting: Event[] = [];
  let isBehind = false;
  let failure: { readonly error: unknown } | null = null;
  return {
    offer(event) {
      if (isBehind) return false;
      isBehind = waiting.length === maxEvents;
      if (!isBehind) waiting.push(event);
      wake.notify();
      return !isBehind;
    },
    isBehind: () => isBehind,
    fail(error) {
      failure = { error };
      wake.notify();
    },
    async next(signal) {
      for (;;) {
        const events = waiting;
        waiting = [];
        if (signal.aborted) return null;
        if (events.length > 0) return events;
        if (failure !== null) throw failure.error;
        if (isBehind) return null;
        await wake.wait(signal);
      }
    },
  };
}
