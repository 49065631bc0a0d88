import type { StoredEnvelope } from "../ports/event-store.ts";
import { dataDigestOf } from "./envelope.ts";
import type { EventLog } from "./event-log.ts";

/** An event whose data does not match its own digest. */
export type ChangedEvent = Pick<StoredEnvelope, "stream" | "revision">;

type WatchedLog = {
  readonly log: EventLog;
  readonly changed: () => readonly ChangedEvent[];
  /** Starts over: the next read may leave out skipped events. */
  readonly forget: () => void;
};

/**
 * A log that records which of the events read through it have changed data. If the data's digest was changed, too, only the chain
 * shows it, and checking the chain costs three times as much.
 */
export function watchedLog(log: EventLog): WatchedLog {
  // An event may be read more than once.
  const changed = new Map<string, ChangedEvent>();
  const look = (envelope: StoredEnvelope): void => {
    const { stream, revision, dataDigest } = envelope;
    if (dataDigestOf(envelope) !== dataDigest) changed.set(`${stream}@${revision}`, { stream, revision });
  };
  return { log: { ...log, look }, changed: () => [...changed.values()], forget: () => changed.clear() };
}
