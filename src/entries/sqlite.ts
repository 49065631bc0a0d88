/** The embedded store: one file of SQLite, and its backups. */
export {
  type BackupOptions,
  backUpStore,
  type CheckedFile,
  restoreStore,
  type WrittenFile,
} from "../stores/sqlite/backup.ts";
export type { SqliteOpenOptions } from "../stores/sqlite/open.ts";
export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from "../stores/sqlite/store.ts";
