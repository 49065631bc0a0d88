import { createNotifier } from "../notifier.ts";
import type { RecordedEvent } from "./driver.ts";

/** One follower's share of what comes: what he has not taken yet, up to a limit. */
export type Tap = {
  readonly offer: (stream: string, event: RecordedEvent) => void;
  readonly fail: (error: unknown) => void;
  /**
   * What has come since he last asked, or what comes next; null when the signal aborts, or when he has all that was kept
   * for him and more came than that: then he has to read the rest.
   */
  readonly next: (signal: AbortSignal) => Promise<readonly RecordedEvent[] | null>;
};

/** Events that are kept for a follower who takes his time. */
const maxEvents = 512;

export function createTap(streamPrefix: string): Tap {
  const wake = createNotifier();
  let waiting: RecordedEvent[] = [];
  let isBehind = false;
  let failure: { readonly error: unknown } | null = null;
  return {
    offer(stream, event) {
      if (isBehind || !stream.startsWith(streamPrefix)) return;
      isBehind = waiting.length === maxEvents;
      if (!isBehind) waiting.push(event);
      wake.notify();
    },
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
