import { leasePace } from "../leases/lease-watch.ts";
import { type EventStoreDbOptions, type EventStoreDbStore, openWithPace } from "./open.ts";

/**
 * Opens the store of an EventStoreDB or KurrentDB server or cluster, from 23.10 on:
 * `esdb://user:password@host:2113?tls=true`. Several processes may have it open at once. Each stream is a stream
 * on the server, and an event's data is the envelope's data, so that the server's own tools can read it.
 *
 * `heads` reads the whole log (of a prefix): the server has no list of streams.
 *
 * @throws {StoreNotFoundError} if there is no store and `mustExist` is set.
 * @throws {StoreUnavailableError} if the address is invalid, the server is unreachable, or it rejects the user; also
 *   if `@eventstore/db-client` is not installed.
 * @throws {TurnlogError} `access-denied` if the user may not read, or may not create the store.
 * @throws {StoreCorruptedError} if the server holds something else than a turnlog store.
 * @throws {StoreTooNewError} if a newer turnlog wrote it.
 */
export function openEventStoreDb(url: string, options: EventStoreDbOptions = {}): Promise<EventStoreDbStore> {
  return openWithPace(url, options, leasePace);
}
