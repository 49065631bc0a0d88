import { leasePace } from "../leases/lease-watch.ts";
import { openWithPace, type PostgresStore, type PostgresStoreOptions } from "./open.ts";

/**
 * Opens the store in a database of PostgreSQL, from 13 on: `postgres://user:password@host:5432/database?schema=turnlog`. Several processes
 * may have it open at once. `initPostgresStore` creates it; opening neither creates nor changes anything.
 *
 * It cannot erase: Postgres keeps old versions of a row in its pages, its write-ahead log and its replicas.
 *
 * @throws {StoreNotFoundError} if there is no store.
 * @throws {StoreUnavailableError} if the address is invalid, the server is unreachable, a standby or another product, or it rejects the
 *   user; also if `pg` is not installed.
 * @throws {TurnlogError} `access-denied` if the user may not read the schema.
 * @throws {StoreCorruptedError} if the schema is not a turnlog store's.
 * @throws {StoreTooNewError} if a newer turnlog migrated it.
 */
export function openPostgresStore(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  return openWithPace(url, options, leasePace);
}
