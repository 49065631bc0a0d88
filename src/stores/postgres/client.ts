import { readFileSync } from "node:fs";
import { checkServerIdentity } from "node:tls";
import { StoreUnavailableError } from "../../log/ports/store-errors.ts";
import type { PostgresAddress, PostgresHost } from "./address.ts";

/** A value of a statement: arrays go as Postgres arrays. */
export type SqlValue = string | number | null | readonly (string | number | null)[];

/** A statement, once. */
export type SqlCall = {
  readonly text: string;
  /** Without values, the text may have several statements. */
  readonly values?: readonly SqlValue[];
  /** The name under which the server keeps the statement prepared. */
  readonly name?: string;
  /** Rows as lists of columns, which are faster to read. */
  readonly rowMode?: "array";
};

/**
 * What turnlog uses of a client of `pg`; the declarations of that package are not among turnlog's dependencies. `end` closes the
 * connection at once, even in the middle of a statement.
 */
export type Client = {
  connect(): Promise<unknown>;
  query(call: SqlCall): Promise<{ readonly rows: readonly unknown[] }>;
  end(): Promise<void>;
  ref(): void;
  unref(): void;
  on(name: "error", listener: (error: Error) => void): unknown;
};

/** Creates a client of one server, which is not connected yet. */
export type CreateClient = (host: PostgresHost) => Client;

/**
 * Loads `pg`, which is an optional peer dependency that other stores do not need.
 *
 * @throws {StoreUnavailableError} if it is not installed, or a certificate's file cannot be read.
 */
export async function loadClients(address: PostgresAddress, connectTimeoutMs: number): Promise<CreateClient> {
  const { Client: PgClient } = await loadPackage();
  const ssl = tlsOptions(address);
  return ({ host, port }) =>
    new PgClient({
      ...{ host, port, types },
      // Each client changes its own.
      ssl: ssl && { ...ssl },
      ...(address.login.user === undefined ? {} : { user: address.login.user }),
      ...(address.login.password === undefined ? {} : { password: address.login.password }),
      ...(address.login.database === undefined ? {} : { database: address.login.database }),
      application_name: "turnlog",
      keepAlive: true,
      connectionTimeoutMillis: connectTimeoutMs,
    });
}

type ClientConfig = {
  readonly host: string;
  readonly port: number;
  readonly ssl: object | false;
  readonly types: typeof types;
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  readonly application_name: string;
  readonly keepAlive: boolean;
  readonly connectionTimeoutMillis: number;
};

type PgPackage = { readonly Client: new (config: ClientConfig) => Client };

async function loadPackage(): Promise<PgPackage> {
  try {
    const { default: pg } = await import("pg");
    // The declarations of `pg` ask for mutable arrays and name more than is used here.
    return pg as unknown as PgPackage;
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND")) throw cause;
    throw new StoreUnavailableError("postgres: stores need the package pg: run npm install pg@8", { cause });
  }
}

/** Object ids of the built-in types that turnlog reads as something else than text. */
const [bool, int4, float8] = [16, 23, 701];

/**
 * How values become JavaScript's. `pg` has one table for all of a process, in which other code may have changed entries. A bigint
 * stays text.
 */
const types = {
  getTypeParser(oid: number): (text: string) => unknown {
    if (oid === bool) return (text) => text === "t";
    return oid === int4 || oid === float8 ? Number : (text) => text;
  },
};

function tlsOptions({ tls }: PostgresAddress): object | false {
  if (tls.mode === "disable") return false;
  return {
    rejectUnauthorized: true,
    // `pg` sets the name to check, from the host.
    checkServerIdentity: tls.mode === "verify-ca" ? () => undefined : checkServerIdentity,
    ...(tls.rootCertificate === undefined ? {} : { ca: readFile(tls.rootCertificate, "sslrootcert") }),
    ...(tls.certificate === undefined ? {} : { cert: readFile(tls.certificate, "sslcert") }),
    ...(tls.key === undefined ? {} : { key: readFile(tls.key, "sslkey") }),
  };
}

function readFile(path: string, setting: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new StoreUnavailableError(`${path} cannot be read: name a file that exists in ${setting} of the address`, {
      cause,
    });
  }
}
