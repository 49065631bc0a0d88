import pg from "pg";
import { onTestFinished } from "vitest";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { type LeasePace, leasePace } from "../../../src/stores/leases/lease-watch.ts";
import { openWithPace, type PostgresStore, type PostgresStoreOptions } from "../../../src/stores/postgres/open.ts";
import { grantPostgresRoles, initPostgresStore, type PostgresRoles } from "../../../src/stores/postgres/setup.ts";

export type OpenedOptions = PostgresStoreOptions & {
  /** How leases are renewed and judged; as for everybody when absent. */
  readonly pace?: LeasePace;
};

/** A store that is closed with the test. It says nothing of what it survives. */
export async function opened(
  url: string,
  { pace = leasePace, ...options }: OpenedOptions = {},
): Promise<PostgresStore> {
  const store = await openWithPace(url, { warn: () => undefined, ...options }, pace);
  onTestFinished(() => store.close());
  addresses.set(store, url);
  return store;
}

const addresses = new WeakMap<EventStore, string>();

/** Another store object at the address of one, as another process has it. */
export const openedAgain = (store: EventStore): Promise<PostgresStore> => opened(addresses.get(store) ?? "");

/** A server may be used by several runs of the tests. */
const started = Date.now().toString(36);
let stores = 0;

/** The address of a new store in a schema of its own; the roles get what `turnlog store grants` gives. */
export async function newStore(url: string, roles: PostgresRoles = {}): Promise<string> {
  stores += 1;
  const own = withSetting(url, `schema=test_${started}_${process.pid}_${stores}`);
  await initPostgresStore(own);
  if (roles.writer !== undefined || roles.reader !== undefined) await grantPostgresRoles(own, roles);
  return own;
}

/** A server whose databases have addresses. */
type Reachable = { readonly url: (database: string) => string };

/**
 * Empty stores of one server. Creating tables takes ten times as long as emptying them, so a store is used again after its test: under
 * another id, at later positions.
 */
export function createEmptyStores(server: Reachable, roles: PostgresRoles = {}) {
  const free: string[] = [];
  return async (): Promise<string> => {
    const used = free.pop();
    const url = used ?? (await newStore(server.url("postgres"), roles));
    if (used !== undefined) await empty(used);
    onTestFinished(() => void free.push(url));
    return url;
  };
}

const tables = ["streams", "events", "keys", "leases", "snapshots", "view_builds", "view_rows", "view_places"];

async function empty(url: string): Promise<void> {
  const schema = schemaOf(url);
  const emptied = tables.map((table) => `DELETE FROM ${schema}.${table}`);
  const id = `UPDATE ${schema}.meta SET value = gen_random_uuid()::text WHERE name = 'storeId'`;
  await sql(url, [...emptied, id].join(";"));
}

export const schemaOf = (url: string): string => /[?&]schema=(\w+)/.exec(url)?.[1] ?? "turnlog";

/** The same address for another role. */
export const asRole = (url: string, role: string): string => url.replace(/\/\/[^@]*@/, `//${role}@`);

export const withSetting = (url: string, setting: string): string => `${url}${url.includes("?") ? "&" : "?"}${setting}`;

/** Executes a statement as a user of its own, with no part of turnlog. */
export async function sql(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url.replace(/\?.*/, "") });
  await client.connect();
  try {
    const result: { readonly rows: readonly Record<string, unknown>[] } = await client.query(text);
    return result.rows;
  } finally {
    await client.end();
  }
}

/** Locks a table in a transaction of its own until it is released. */
export async function lockTable(url: string, table: string): Promise<{ readonly release: () => Promise<void> }> {
  const client = new pg.Client({ connectionString: url.replace(/\?.*/, "") });
  client.on("error", () => undefined);
  // However the test ends: others would wait for the lock.
  onTestFinished(() => client.end());
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table}`);
  return {
    async release() {
      await client.query("COMMIT");
    },
  };
}
