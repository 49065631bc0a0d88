import { sha256Hex } from "../../base/sha256.ts";
import type { StoredEnvelope } from "../ports/event-store.ts";
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
  const look = ({ stream, revision, data, dataDigest }: StoredEnvelope): void => {
    if (sha256Hex(data) !== dataDigest) changed.set(`${stream}@${revision}`, { stream, revision });
  };
  return { log: { ...log, look }, changed: () => [...changed.values()], forget: () => changed.clear() };
}
