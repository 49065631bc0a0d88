import { setMaxListeners } from "node:events";
import type { EventStore, ReadLogOptions, StoredEnvelope } from "../../log/ports/event-store.ts";
import type { Liveness } from "../../log/ports/liveness.ts";
import type { Snapshot, SnapshotStore } from "../../log/ports/snapshot-store.ts";
import { StoreClosedError, StoreUnavailableError } from "../../log/ports/store-errors.ts";
import type { ViewStore } from "../../log/ports/view-store.ts";
import type { LeasePace } from "../leases/lease-watch.ts";
import { createLeaseLiveness, type LeaseLiveness } from "../leases/liveness.ts";
import { parsePostgresAddress } from "./address.ts";
import { createAppends } from "./append.ts";
import type { Client } from "./client.ts";
import { type Database, openDatabase, type Trying } from "./database.ts";
import { raised } from "./failure.ts";
import type { LeaseTask } from "./lease-renewal.ts";
import { createReads } from "./read.ts";
import { createSeen, type Seen } from "./seen.ts";
import { readMeta } from "./setup.ts";
import { createTail, follow } from "./tail.ts";
import { createPostgresViews } from "./views.ts";

export type PostgresStore = EventStore & {
  readonly snapshots: SnapshotStore;
  readonly views: ViewStore;
  readonly liveness: Liveness;
};

export type PostgresStoreOptions = {
  /** How long to keep trying to open, to append, or to read without progress; by default the address's value, else 30,000. */
  readonly deadlineMs?: number;
  /** Opens a server with `fsync` or `full_page_writes` off: a loss of power there loses acknowledged appends, or the database. */
  readonly allowUnsafe?: boolean;
  /** Called with messages for an operator; by default emits a process warning. */
  readonly warn?: (message: string) => void;
};

/** How long opening tries at most: an address that is wrong should not be tried for as long as a server that was there. */
const longestOpeningMs = 10_000;

/** Opens the store at an address, with this pace of its lease; see `openPostgresStore`. */
export async function openWithPace(
  url: string,
  options: PostgresStoreOptions,
  pace: LeasePace,
): Promise<PostgresStore> {
  const { allowUnsafe = false, warn = emitWarning } = options;
  const address = parsePostgresAddress(url, options.deadlineMs);
  const opening: Trying = { forMs: Math.min(address.deadlineMs, longestOpeningMs), isOpening: true };
  let storeId: string | null = null;
  /** A server that comes back may hold another store: a new connection asks before it is used. */
  const confirm = async (client: Client): Promise<void> => {
    if (storeId === null) return;
    const text = `SELECT value FROM ${address.schema}.meta WHERE name = 'storeId'`;
    const [row] = (await client.query({ text })).rows as readonly { readonly value: string }[];
    if (row?.value !== storeId) throw Object.assign(new Error("another store"), { code: raised.otherStore });
  };
  const database = await openDatabase({ address, confirm });
  try {
    await checkDurable(database, { allowUnsafe, warn, opening });
    ({ storeId } = await readMeta(database, opening));
  } catch (error) {
    database.closeConnections();
    throw error;
  }
  return createStore(database, { storeId, seen: createSeen(), pace, warn });
}

type Made = {
  readonly storeId: string;
  readonly seen: Seen;
  readonly pace: LeasePace;
  readonly warn: (message: string) => void;
};

function createStore(database: Database, { storeId, seen, pace, warn }: Made): PostgresStore {
  const { address, refuseIfClosed } = database;
  const closing = new AbortController();
  // Every active follower listens to it.
  setMaxListeners(0, closing.signal);
  const reads = createReads(database, { storeId, seen });
  const tail = createTail({ database, reads, closing: closing.signal, warn });
  const appends = createAppends({ database, storeId, seen, onCommit: tail.wake });
  const { end, ...liveness } = createLiveness(database, { pace, closing: closing.signal, warn });
  const { readStream, readLog, head, heads, newestStream, orphanEvents, namingKey } = reads;
  let closed: Promise<void> | null = null;

  async function* subscribe(options: ReadLogOptions = {}): AsyncIterable<StoredEnvelope> {
    refuseIfClosed();
    const { after = "0", streamPrefix = "", limit = Number.POSITIVE_INFINITY } = options;
    const signal = options.signal === undefined ? closing.signal : AbortSignal.any([closing.signal, options.signal]);
    let left = limit;
    for await (const events of follow({ reads, tail }, { after, streamPrefix, signal }))
      for (const event of events) {
        if (signal.aborted) return;
        yield event;
        left -= 1;
        if (left === 0) return;
      }
  }

  async function finish(): Promise<void> {
    database.refuse();
    closing.abort(new StoreClosedError(`the store at ${address.shown} was closed`));
    await appends.idle();
    await end();
    database.closeConnections();
  }
  function close(): Promise<void> {
    closed ??= finish();
    return closed;
  }

  return {
    storeId,
    deadlineMs: address.deadlineMs,
    snapshots: createPostgresSnapshots(database),
    views: createPostgresViews(database),
    liveness,
    ...{ readStream, readLog, head, heads, newestStream, orphanEvents, namingKey, subscribe },
    end: reads.end,
    append: appends.append,
    takesLines() {
      refuseIfClosed();
      return true;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Snapshots beside the events, in a table of their own. */
function createPostgresSnapshots(database: Database): SnapshotStore {
  const table = `${database.address.schema}.snapshots`;
  const derived = { isDerived: true };
  return {
    async get({ stream, projection, version }, atMost) {
      database.refuseIfClosed();
      const [row] = await database.rows<Snapshot>(
        `SELECT revision::float8 AS revision, data FROM ${table}
         WHERE stream = $1 AND projection = $2 AND version = $3 AND revision <= $4 ORDER BY revision DESC LIMIT 1`,
        [stream, projection, version, atMost],
        derived,
      );
      return row === undefined ? null : { revision: row.revision, data: row.data };
    },
    async put({ stream, projection, version }, { revision, data }) {
      database.refuseIfClosed();
      await database.rows(
        `INSERT INTO ${table} (stream, projection, version, revision, data) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (stream, projection, version, revision) DO UPDATE SET data = excluded.data`,
        [stream, projection, version, revision, data],
        derived,
      );
    },
    async deleteAll() {
      database.refuseIfClosed();
      await database.rows(`DELETE FROM ${table}`, [], derived);
    },
  };
}

type LivenessOptions = {
  readonly pace: LeasePace;
  readonly closing: AbortSignal;
  readonly warn: (message: string) => void;
};

/** Leases are rows, each renewed by a thread of its holder's process. */
function createLiveness(database: Database, { pace, closing, warn }: LivenessOptions): LeaseLiveness {
  const { address, refuseIfClosed } = database;
  const text = `SELECT renewals::float8 AS renewals FROM ${address.schema}.leases WHERE id = $1`;
  return createLeaseLiveness({
    ...{ pace, shown: address.shown, closing, warn, refuseIfClosed },
    // They are errors of the port already.
    translate: (error) => error,
    async look(leaseId) {
      let hasFailed = false;
      const onFailure = (): void => {
        hasFailed = true;
      };
      const rows = await database.rows<{ readonly renewals: number }>(text, [leaseId], { signal: closing, onFailure });
      return { sight: rows[0]?.renewals ?? "none", hasFailed };
    },
    threadOf(leaseId) {
      const task: LeaseTask = { address, leaseId, pace };
      return { store: "postgres", task, deadlineMs: address.deadlineMs };
    },
  });
}

/** `append_1` sees to `synchronous_commit` itself; these two are settings of the whole server. */
async function checkDurable(
  { address, rows }: Database,
  {
    allowUnsafe,
    warn,
    opening,
  }: Required<Pick<PostgresStoreOptions, "allowUnsafe" | "warn">> & { readonly opening: Trying },
): Promise<void> {
  const off = await rows<{ readonly name: string }>(
    "SELECT name FROM pg_catalog.pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting <> 'on' ORDER BY name",
    [],
    opening,
  );
  if (off.length === 0) return;
  const names = off.map(({ name }) => name).join(" and ");
  const problem = `${address.shown} does not write durably (${names} off)`;
  if (!allowUnsafe) throw new StoreUnavailableError(`${problem}: turn it on there`);
  warn(`${problem}: a loss of power there loses acknowledged appends`);
}

function emitWarning(message: string): void {
  process.emitWarning(message, "TurnlogWarning");
}
