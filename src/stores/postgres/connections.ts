import { StoreUnavailableError } from "../../log/ports/store-errors.ts";
import { realTime } from "../time.ts";
import type { PostgresAddress } from "./address.ts";
import type { Client, CreateClient } from "./client.ts";
import { ConnectionFailure, codeOf, isOfConnection } from "./failure.ts";

/** A few connections to the primary, opened when needed. */
export type Connections = {
  /**
   * Does work on a connection that is not shared meanwhile. If the work fails with an error of the connection, or takes longer than
   * the limit with the wait for a connection, the connection is closed.
   */
  readonly use: <T>(limitMs: number, work: (client: Client) => Promise<T>) => Promise<T>;
  /** Closes all connections, those at work included. */
  readonly close: () => void;
};

export type ConnectionsOptions = {
  readonly address: PostgresAddress;
  readonly create: CreateClient;
  readonly max: number;
  /** Called with each new connection before its first use; throwing closes it. */
  readonly confirm: (client: Client) => Promise<void>;
};

export function createConnections({ address, create, max, confirm }: ConnectionsOptions): Connections {
  const { hosts } = address;
  const idle: Client[] = [];
  const open = new Set<Client>();
  const waiting: (() => void)[] = [];
  /** The host that was the primary last. */
  let preferred = 0;
  let opening = 0;

  function drop(client: Client): void {
    open.delete(client);
    const index = idle.indexOf(client);
    if (index >= 0) idle.splice(index, 1);
    // It may be closed already.
    void client.end().catch(() => undefined);
    waiting.shift()?.();
  }

  async function connectTo(index: number): Promise<Client> {
    const host = hosts[index];
    if (host === undefined) throw new Error("an address has a host");
    const client = create(host);
    // Also emitted while no statement is waiting, when the server ends the connection.
    client.on("error", () => drop(client));
    try {
      await client.connect();
      await checkServer(client, address);
      await confirm(client);
      return client;
    } catch (error) {
      void client.end().catch(() => undefined);
      throw error;
    }
  }

  /** Connects to the first host that is a primary, beginning with the last one that was. */
  async function connect(): Promise<Client> {
    let failure: unknown;
    for (let tried = 0; tried < hosts.length; tried += 1) {
      const index = (preferred + tried) % hosts.length;
      try {
        const client = await connectTo(index);
        preferred = index;
        return client;
      } catch (error) {
        // A standby is told only if no host says anything else.
        if (failure === undefined || codeOf(failure) === standbyCode) failure = error;
      }
    }
    throw failure;
  }

  async function take(): Promise<Client> {
    for (;;) {
      const client = idle.pop();
      if (client !== undefined) {
        client.ref();
        return client;
      }
      if (open.size + opening < max) break;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    opening += 1;
    try {
      const client = await connect();
      open.add(client);
      return client;
    } catch (error) {
      waiting.shift()?.();
      throw error;
    } finally {
      opening -= 1;
    }
  }

  function giveBack(client: Client): void {
    if (!open.has(client)) return;
    // An idle connection does not keep the process alive.
    client.unref();
    idle.push(client);
    waiting.shift()?.();
  }

  return {
    async use(limitMs, work) {
      const until = realTime.nowMs() + limitMs;
      const taking = take();
      const client = await within(limitMs, taking).catch((error: unknown) => {
        // It may still come, for another caller.
        taking.then(giveBack, () => undefined);
        throw error;
      });
      try {
        const result = await within(Math.max(1, until - realTime.nowMs()), work(client));
        giveBack(client);
        return result;
      } catch (error) {
        if (isOfConnection(error)) drop(client);
        else giveBack(client);
        throw error;
      }
    },
    close() {
      for (const client of [...open]) drop(client);
    },
  };
}

async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new ConnectionFailure(`the server did not answer within ${Math.ceil(limitMs)} ms`));
  }, limitMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    // If the time is over, the connection is closed, and the work fails unheard.
    work.catch(() => undefined);
  }
}

/** The code of Postgres for a statement that a standby cannot execute. */
const standbyCode = "25006";

const oldestVersion = 130_000;

/** Servers that speak Postgres's protocol and have no advisory locks, or none that end after a commit is visible. */
const foreignServers = [
  ["CockroachDB", /CockroachDB/i],
  ["YugabyteDB", /-YB-|Yugabyte/i],
  ["Redshift", /Redshift/i],
  ["Materialize", /Materialize/i],
] as const;

/**
 * Checks what every connection needs: a primary, since a standby does not see the locks that order the log, and a real server of a known
 * version.
 */
async function checkServer(client: Client, { shown }: PostgresAddress): Promise<void> {
  const { rows } = await client.query({
    text: `SELECT pg_is_in_recovery() AS "isStandby", current_setting('server_version_num') AS number, version() AS text,
      current_setting('server_encoding') AS encoding, current_setting('transaction_isolation') AS isolation`,
  });
  const [row] = rows as readonly ServerRow[];
  if (row === undefined) throw new ConnectionFailure("the server did not say what it is");
  const [foreign] = foreignServers.find(([, pattern]) => pattern.test(row.text)) ?? [];
  if (foreign !== undefined) {
    throw new StoreUnavailableError(
      `${shown} is ${foreign}, whose locks cannot order the log: use a server of PostgreSQL`,
    );
  }
  if (Number(row.number) < oldestVersion)
    throw new StoreUnavailableError(`${shown} is an older PostgreSQL than 13 (${row.text.slice(0, 40)}): update it`);
  if (row.encoding !== "UTF8") {
    throw new StoreUnavailableError(
      `the database at ${shown} is in ${row.encoding}, which cannot store every text: create one with ENCODING 'UTF8'`,
    );
  }
  if (row.isolation !== "read committed") {
    throw new StoreUnavailableError(
      `${shown} runs transactions as ${row.isolation}: set default_transaction_isolation of this role to read committed (ALTER ROLE … SET …)`,
    );
  }
  if (row.isStandby) {
    const standby = new Error("the server is a standby, on which turnlog neither reads nor writes");
    throw Object.assign(standby, { code: standbyCode });
  }
}

type ServerRow = {
  readonly isStandby: boolean;
  readonly number: string;
  readonly text: string;
  readonly encoding: string;
  readonly isolation: string;
};
