import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { StoreCorruptedError, StoreTooNewError, StoreUnavailableError } from "../../log/ports/store-errors.ts";
import { type PostgresAddress, parsePostgresAddress } from "./address.ts";
import { type Database, openDatabase, type Trying } from "./database.ts";
import { codeOf, portError } from "./failure.ts";
import { functions, revokes, schemaVersion, tables } from "./schema.ts";

/** What a store in a database says about itself. */
export type StoreMeta = { readonly storeId: string; readonly version: number };

/** Statements that lead from one schema version to the next; the first ones create a store. */
type Migration = (schema: string) => readonly string[];

const migrations: readonly Migration[] = [(schema) => [...tables(schema), ...functions(schema), ...revokes(schema)]];

export type SetupResult = {
  readonly storeId: string;
  /** The schema versions before and after; 0 for a store that was created. */
  readonly from: number;
  readonly to: number;
};

/** The statements that create a store, in one transaction. */
export function initStatements(schema: string): readonly string[] {
  return [
    `CREATE SCHEMA IF NOT EXISTS ${schema}`,
    ...migrations.flatMap((migration) => migration(schema)),
    `INSERT INTO ${schema}.meta (name, value)
  VALUES ('storeId', pg_catalog.gen_random_uuid()::text), ('schemaVersion', '${schemaVersion}')`,
  ];
}

/** The names of roles: a writer appends and runs, a reader only reads. */
export type PostgresRoles = { readonly writer?: string; readonly reader?: string };

/**
 * The statements that let roles use a store, by their names. A writer cannot change or remove an event, not even by mistake: only
 * `append_1` writes the log, with the rights of the owner.
 */
export function grantStatements(schema: string, roles: PostgresRoles): readonly string[] {
  const both = [roles.writer, roles.reader].filter((role) => role !== undefined).map(quoted);
  if (both.length === 0) return [];
  const derived = ["snapshots", "view_builds", "view_rows", "view_places"].map((table) => `${schema}.${table}`);
  const writer = roles.writer === undefined ? [] : [quoted(roles.writer)];
  return [
    `GRANT USAGE ON SCHEMA ${schema} TO ${both.join(", ")}`,
    `GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${both.join(", ")}`,
    `GRANT SELECT ON SEQUENCE ${schema}.positions TO ${both.join(", ")}`,
    `GRANT EXECUTE ON FUNCTION ${schema}.horizon_1 TO ${both.join(", ")}`,
    ...writer.flatMap((role) => [
      `GRANT EXECUTE ON FUNCTION ${schema}.append_1 TO ${role}`,
      `GRANT INSERT, UPDATE, DELETE ON ${[...derived, `${schema}.leases`].join(", ")} TO ${role}`,
    ]),
  ];
}

const quoted = (role: string): string => `"${role.replaceAll('"', '""')}"`;

/**
 * Creates a store in the database of an address, unless it is there.
 *
 * @throws {StoreUnavailableError} if the schema holds something else.
 * @throws {TurnlogError} `access-denied` if the user may not create it.
 */
export const initPostgresStore = (url: string): Promise<SetupResult> =>
  inTransaction(url, async (run, { schema, shown }) => {
    const found = await metaIn(run, schema);
    if (found !== null) return { storeId: found.storeId, from: found.version, to: found.version };
    const others = await run(
      `SELECT relname FROM pg_catalog.pg_class WHERE relnamespace = pg_catalog.to_regnamespace('${schema}') LIMIT 1`,
    );
    if (others.length > 0) {
      throw new StoreUnavailableError(
        `the schema ${schema} at ${shown} holds tables of something else: name another one (?schema=…)`,
      );
    }
    await run(createStatements(schema, await hasSchema(run, schema)).join(";\n"));
    const { storeId } = await metaOrThrow(run, schema);
    return { storeId, from: 0, to: schemaVersion };
  });

/** Creating a schema that is there needs a right on the database, even with IF NOT EXISTS. */
function createStatements(schema: string, isThere: boolean): readonly string[] {
  const [create, ...others] = initStatements(schema);
  return isThere || create === undefined ? others : [create, ...others];
}

const hasSchema = async (run: Run, schema: string): Promise<boolean> =>
  (await run(`SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '${schema}'`)).length > 0;

/**
 * Brings a store to this turnlog's schema version, in one transaction. Processes of an older turnlog may continue meanwhile and after.
 *
 * @throws {StoreNotFoundError} if there is none.
 * @throws {StoreTooNewError} if a newer turnlog migrated it.
 */
export const migratePostgresStore = (url: string): Promise<SetupResult> =>
  inTransaction(url, async (run, address) => {
    const { schema } = address;
    const { storeId, version } = checkVersion(await metaOrThrow(run, schema), address);
    for (const migration of migrations.slice(version)) await run(migration(schema).join(";\n"));
    await run(`UPDATE ${schema}.meta SET value = '${schemaVersion}' WHERE name = 'schemaVersion'`);
    return { storeId, from: version, to: schemaVersion };
  });

/** Gives roles the rights of a writer and of a reader. */
export const grantPostgresRoles = (url: string, roles: PostgresRoles): Promise<SetupResult> =>
  inTransaction(url, async (run, { schema }) => {
    const { storeId, version } = await metaOrThrow(run, schema);
    await run(grantStatements(schema, roles).join(";\n"));
    return { storeId, from: version, to: version };
  });

type Run = (text: string) => Promise<readonly unknown[]>;

async function inTransaction<T>(url: string, work: (run: Run, address: PostgresAddress) => Promise<T>): Promise<T> {
  const address = parsePostgresAddress(url);
  const database = await openDatabase({ address });
  try {
    return await database.transaction(async (run) => {
      // Two of them at once: the second one finds what the first one did.
      await run("SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('turnlog schema', 0))");
      return work(run, address);
    });
  } catch (error) {
    throw setupError(error, address);
  } finally {
    database.closeConnections();
  }
}

function setupError(error: unknown, address: PostgresAddress): unknown {
  if (codeOf(error) === "42501" && !(error instanceof TurnlogError)) {
    return new TurnlogError(
      "access-denied",
      `the user in the address may not do that at ${address.shown} (${messageOf(error)}): use the owner of the database or of the schema`,
      { cause: error },
    );
  }
  return portError(error, { address, isOpening: true });
}

/** Null if there is no store. */
async function metaIn(run: Run, schema: string): Promise<StoreMeta | null> {
  const [there] = await run(`SELECT pg_catalog.to_regclass('${schema}.meta')::text AS meta`);
  return (there as { readonly meta: string | null } | undefined)?.meta == null ? null : metaOrThrow(run, schema);
}

async function metaOrThrow(run: Run, schema: string): Promise<StoreMeta> {
  return metaOf(await run(metaQuery(schema)), schema);
}

const metaQuery = (schema: string): string =>
  `SELECT name, value FROM ${schema}.meta WHERE name IN ('storeId', 'schemaVersion')`;

function metaOf(rows: readonly unknown[], schema: string): StoreMeta {
  const values = new Map((rows as readonly MetaRow[]).map(({ name, value }) => [name, value]));
  const [storeId, version] = [values.get("storeId"), Number(values.get("schemaVersion"))];
  if (storeId !== undefined && Number.isInteger(version) && version > 0) return { storeId, version };
  throw new StoreCorruptedError(`the schema ${schema} is not a turnlog store's: name another one (?schema=…)`);
}

type MetaRow = { readonly name: string; readonly value: string };

/** What a database that is being opened says about its store. */
export async function readMeta({ address, rows }: Database, trying: Trying): Promise<StoreMeta> {
  return checkVersion(metaOf(await rows(metaQuery(address.schema), [], trying), address.schema), address);
}

function checkVersion(meta: StoreMeta, { shown }: PostgresAddress): StoreMeta {
  if (meta.version <= schemaVersion) return meta;
  throw new StoreTooNewError(
    `a newer turnlog migrated ${shown} (schema ${meta.version}, this one knows ${schemaVersion}): update turnlog`,
  );
}
