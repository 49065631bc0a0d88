/** Event stores in a database of PostgreSQL, and the statements that create them. */
export type { PostgresStore, PostgresStoreOptions } from "../stores/postgres/open.ts";
export {
  grantPostgresRoles,
  initPostgresStore,
  migratePostgresStore,
  type PostgresRoles,
  type SetupResult,
} from "../stores/postgres/setup.ts";
export { openPostgresStore } from "../stores/postgres/store.ts";
