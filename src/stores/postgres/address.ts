import { StoreUnavailableError } from "../../log/ports/store-errors.ts";

/** A server, or one of several of which one is the primary. */
export type PostgresHost = { readonly host: string; readonly port: number };

/** How the connection is protected. Certificates are files. */
type PostgresTls = {
  /** `verify-ca` does not compare the host's name with the certificate. */
  readonly mode: "disable" | "verify-ca" | "verify-full";
  readonly rootCertificate?: string;
  readonly certificate?: string;
  readonly key?: string;
};

/** Where a store is, and how to reach it. */
export type PostgresAddress = {
  readonly hosts: readonly PostgresHost[];
  /** Absent members have the defaults of `pg`: PGUSER, PGPASSWORD and the like, then the system's user. Not for messages. */
  readonly login: { readonly user?: string; readonly password?: string; readonly database?: string };
  /** The address for messages, without credentials. */
  readonly shown: string;
  readonly schema: string;
  readonly tls: PostgresTls;
  /** How long to keep trying to open, to append, or to read without progress, over all repetitions. */
  readonly deadlineMs: number;
  /** The longest time until a follower sees an append of another process. */
  readonly pollMs: number;
};

/** Whether `openStore` passes the address to this store. */
export const isPostgresAddress = (url: string): boolean => schemePattern.test(url);

/**
 * Parses `postgres://user:password@host:port,host:port/database?key=value`; `postgresql://` means the same.
 *
 * @param deadlineMs - Overrides the one in the address.
 * @throws {StoreUnavailableError} that names the part to change.
 */
export function parsePostgresAddress(url: string, deadlineMs?: number): PostgresAddress {
  const scheme = schemePattern.exec(url);
  if (scheme === null) throw refusal("it must begin with postgres:// or postgresql://");
  const [, authority = "", path, query = ""] = partsPattern.exec(url.slice(scheme[0].length)) ?? [];
  // A password with an unencoded / would otherwise be taken for a part of the path, and be shown.
  if ((path ?? "").includes("@")) throw refusal(credentialsRule);
  const at = authority.lastIndexOf("@");
  const hosts = hostsOf(authority.slice(at + 1));
  const settings = settingsOf(query);
  const given = loginOf(authority.slice(0, Math.max(at, 0)), at >= 0);
  const database = decoded(path ?? "", "the database");
  const schema = settings.get("schema") ?? defaultSchema;
  if (!schemaPattern.test(schema))
    throw refusal("schema may have lower-case letters, digits and _, and does not begin with a digit or pg_");
  const shownHosts = hosts.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`).join(",");
  return {
    hosts,
    login: {
      ...given,
      ...loginSettings(settings),
      ...(database === "" ? {} : { database }),
    },
    shown: `postgres://${shownHosts}/${database}${schema === defaultSchema ? "" : `?schema=${schema}`}`,
    schema,
    tls: tlsOf(settings, hosts),
    deadlineMs: deadlineMs ?? wholeSetting(settings, "deadlineMs") ?? defaultDeadlineMs,
    pollMs: wholeSetting(settings, "pollMs") ?? defaultPollMs,
  };
}

const defaultSchema = "turnlog";

/** An append with an unknown outcome is repeated this long: a server needs about that for a restart or a failover. */
const defaultDeadlineMs = 30_000;

const defaultPollMs = 50;
const defaultPort = 5432;

const schemePattern = /^postgres(?:ql)?:\/\//;
const partsPattern = /^([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s;
const hostPattern = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+|%2[fF][\w.%/-]+))(?::(\d{1,5}))?$/;
const schemaPattern = /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/;
const credentialsRule =
  "credentials are written user:password@, with : / ? # @ and % of a password in percent-encoding";

const refusal = (rule: string): StoreUnavailableError =>
  new StoreUnavailableError(`the address of the store cannot be used: ${rule}`);

function hostsOf(text: string): readonly PostgresHost[] {
  if (text === "") return [{ host: "localhost", port: defaultPort }];
  return text.split(",").map((each) => {
    const [whole, ip, name, port = String(defaultPort)] = hostPattern.exec(each) ?? [];
    if (whole === undefined || Number(port) > 65_535 || Number(port) === 0)
      throw refusal("hosts are written host:port,host:port, and the folder of a socket in percent-encoding (%2Frun)");
    return { host: ip ?? decoded(name ?? "", "a host"), port: Number(port) };
  });
}

function loginOf(credentials: string, isGiven: boolean): PostgresAddress["login"] {
  if (!isGiven) return {};
  const [user = "", password, ...more] = credentials.split(":");
  if (user === "" || more.length > 0 || credentials.includes("@")) throw refusal(credentialsRule);
  const login = { user: decoded(user, "the user") };
  return password === undefined ? login : { ...login, password: decoded(password, "the password") };
}

/** Programs for Postgres also put credentials into the query. */
function loginSettings(settings: ReadonlyMap<string, string>): PostgresAddress["login"] {
  const [user, password] = [settings.get("user"), settings.get("password")];
  return { ...(user === undefined ? {} : { user }), ...(password === undefined ? {} : { password }) };
}

/** The value is not part of the message: it may be a password. */
function decoded(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refusal(`a % of ${what} is written %25`);
  }
}

function settingsOf(query: string): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  for (const part of query === "" ? [] : query.split("&")) {
    const [key = "", ...rest] = part.split("=");
    const reason = notSupported.get(key);
    if (reason !== undefined) throw refusal(reason);
    if (!keys.includes(key)) throw refusal(`there is no setting ${key}; the settings are ${keys.join(", ")}`);
    if (settings.has(key)) throw refusal(`${key} is set twice`);
    const value = decoded(rest.join("="), key);
    if (value === "") throw refusal(`${key} has no value`);
    settings.set(key, value);
  }
  return settings;
}

const keys = [
  ...["schema", "sslmode", "sslrootcert", "sslcert", "sslkey"],
  ...["user", "password", "deadlineMs", "pollMs"],
];

/** Settings of other programs that turnlog refuses for a reason. */
const notSupported: ReadonlyMap<string, string> = new Map([
  ["channel_binding", "turnlog cannot enforce channel_binding, so remove it; sslmode=verify-full checks the server"],
  ["options", "poolers refuse options, so remove it and set the role's own settings (ALTER ROLE … SET …)"],
  ["pgbouncer", "turnlog works behind poolers without pgbouncer=true, so remove it"],
]);

function wholeSetting(settings: ReadonlyMap<string, string>, key: string): number | undefined {
  const value = settings.get(key);
  if (value === undefined) return undefined;
  if (!/^\d{1,9}$/.test(value) || Number(value) === 0)
    throw refusal(`${key} is a whole number of milliseconds from 1 on`);
  return Number(value);
}

function tlsOf(settings: ReadonlyMap<string, string>, hosts: readonly PostgresHost[]): PostgresTls {
  const given = settings.get("sslmode");
  const wanted = given ?? (hosts.every(isLocal) ? "disable" : "verify-full");
  const mode = sslModes.get(wanted);
  if (mode === undefined) throw refusal(`sslmode is ${[...sslModes.keys()].join(", ")}, and not ${wanted}`);
  const [rootCertificate, certificate, key] = ["sslrootcert", "sslcert", "sslkey"].map((name) => settings.get(name));
  const files = {
    ...(rootCertificate === undefined ? {} : { rootCertificate }),
    ...(certificate === undefined ? {} : { certificate }),
    ...(key === undefined ? {} : { key }),
  };
  if (mode === "disable" && Object.keys(files).length > 0)
    throw refusal("sslrootcert, sslcert and sslkey need sslmode=verify-full or verify-ca");
  return { mode, ...files };
}

/** libpq's `require` accepts any certificate, so that anyone in between could read along; turnlog checks it. */
const sslModes: ReadonlyMap<string, PostgresTls["mode"]> = new Map([
  ["disable", "disable"],
  ["require", "verify-full"],
  ["verify-ca", "verify-ca"],
  ["verify-full", "verify-full"],
]);

/** The connection does not leave this machine. */
const isLocal = ({ host }: PostgresHost): boolean =>
  host.startsWith("/") || ["localhost", "127.0.0.1", "::1"].includes(host);
