import { leasePace } from "./lease-watch.ts";
import { type EventStoreDbOptions, type EventStoreDbStore, openWithPace } from "./open.ts";

/**
 * Opens the store of an EventStoreDB or KurrentDB server or cluster, from 23.10 on:
 * `esdb://user:password@host:2113?tls=true`. Several processes may have it open at once. A stream here is a stream
 * there; an event's data is the envelope's data, so that the server's own tools can read it.
 *
 * `heads` reads the whole log (of a prefix): the server has no list of streams.
 *
 * @throws {StoreNotFoundError} when there is no store and `mustExist` is set.
 * @throws {StoreUnavailableError} when the address cannot be used, the server is not there, or refuses the user; also
 *   when `@eventstore/db-client` is not installed.
 * @throws {TurnlogError} `access-denied` when the user may not read, or may not create the store.
 * @throws {StoreCorruptedError} when what is there is not a turnlog store.
 * @throws {StoreTooNewError} when a newer turnlog has written it.
 */
export function openEventStoreDb(url: string, options: EventStoreDbOptions = {}): Promise<EventStoreDbStore> {
  return openWithPace(url, options, leasePace);
}
