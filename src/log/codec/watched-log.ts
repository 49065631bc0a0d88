import { sha256Hex } from "../../base/sha256.ts";
import type { StoredEnvelope } from "../ports/event-store.ts";
import { createEventReader, type EventLog } from "./event-log.ts";

/** An event whose data is not what its own digest says. */
export type ChangedEvent = Pick<StoredEnvelope, "stream" | "revision">;

/**
 * A log that notes, of each event that is read through it, whether its data was changed. Somebody who changes the digest of the
 * data too is found by the chain, which costs three times as much.
 */
export function watchedLog(log: EventLog): { readonly log: EventLog; readonly changed: () => readonly ChangedEvent[] } {
  // A fold may begin anew, and read an event again.
  const changed = new Map<string, ChangedEvent>();
  const look = ({ stream, revision, data, dataDigest }: StoredEnvelope): void => {
    if (sha256Hex(data) !== dataDigest) changed.set(`${stream}@${revision}`, { stream, revision });
  };
  return { log: { ...log, ...createEventReader(log.store, look) }, changed: () => [...changed.values()] };
}
