import { StoreUnavailableError } from "../../log/ports/store-errors.ts";

/** Where a store is, and how to reach it. */
export type Address = {
  /** The client's connection string: `esdb://` or `esdb+discover://`, with credentials. Not for messages. */
  readonly connectionString: string;
  /** The address for messages, without credentials. */
  readonly shown: string;
  /** A prefix of every stream's name, so that several stores can share a server; empty for none. */
  readonly namespace: string;
  /** How long to keep trying to open, to append, or to read without progress, over all repetitions. */
  readonly deadlineMs: number;
  /** How long the server may be silent during an append, and during a read, before another try. */
  readonly silenceMs: { readonly append: number; readonly read: number };
};

/** Whether `openStore` passes the address to this store. */
export const isEventStoreDbAddress = (url: string): boolean => schemePattern.test(url);

/**
 * Parses `esdb://user:password@host:port,host:port?key=value`. `kurrentdb://` and `kdb://` mean the same; the client knows only
 * `esdb`. Keys that begin with `turnlog` are turnlog's; all others are the client's.
 *
 * @param deadlineMs - Overrides the one in the address.
 * @throws {StoreUnavailableError} that names the part to change.
 */
export function parseAddress(url: string, deadlineMs?: number): Address {
  const scheme = schemePattern.exec(url);
  if (scheme === null) throw refusal("it must begin with esdb://, esdb+discover://, kurrentdb:// or kdb://");
  const [authority = "", ...queries] = url.slice(scheme[0].length).split("?");
  const at = authority.lastIndexOf("@");
  const hosts = authority.slice(at + 1).replace(/\/$/, "");
  checkCredentials(authority.slice(0, Math.max(at, 0)), at >= 0);
  if (!hosts.split(",").every((host) => hostPattern.test(host))) {
    throw refusal(`hosts are written host:port,host:port and special characters of a password in percent-encoding`);
  }
  const settings = parseSettings(queries.join("?"));
  const namespace = settings.get("turnlogNamespace") ?? "";
  if (!namespacePattern.test(namespace)) throw refusal("turnlogNamespace may have letters, digits and _");
  // `defaultDeadline` is the client's name for it, which addresses for other programs also use.
  const limitMs = deadlineMs ?? Number(settings.get("deadlineMs") ?? settings.get("defaultDeadline") ?? 10_000);
  const silenceMs = {
    append: silenceLimit(settings.get("turnlogCommitTimeout")) ?? Math.max(limitMs / 2, defaultCommitMs * patience),
    read: silenceLimit(settings.get("turnlogReadTimeout")) ?? limitMs / 2,
  };
  for (const key of ownKeys) settings.delete(key);
  const query = Array.from(settings, ([key, value]) => `${key}=${value}`).join("&");
  const server = `esdb${scheme[2] ?? ""}://`;
  return {
    connectionString: `${server}${authority.slice(0, at + 1)}${hosts}${query === "" ? "" : `?${query}`}`,
    shown: `${server}${hosts}`,
    namespace,
    deadlineMs: limitMs,
    silenceMs,
  };
}

/**
 * The silence after which to try again. Two tries fit into the deadline, so that a silent node is left for another one. A limit
 * shorter than the server's would ask again while the first answer is still on its way.
 */
const silenceLimit = (serverMs: string | undefined): number | undefined =>
  serverMs === undefined ? undefined : Number(serverMs) * patience;

const patience = 1.25;

const schemePattern = /^(esdb|kurrentdb|kdb)(\+discover)?:\/\//;
const hostPattern = /^[A-Za-z0-9_.-]+(:\d{1,5})?$/;
const namespacePattern = /^[A-Za-z0-9_]{0,64}$/;

/** The server's default `CommitTimeoutMs`. */
const defaultCommitMs = 2_000;

const refusal = (rule: string): StoreUnavailableError =>
  new StoreUnavailableError(`the address of the store cannot be used: ${rule}`);

// The client silently cuts a password at a second colon.
function checkCredentials(credentials: string, isGiven: boolean): void {
  if (!isGiven) return;
  const parts = credentials.split(":");
  if (parts.length !== 2 || parts.includes("") || /[@/]/.test(credentials)) {
    throw refusal("credentials are written user:password@, with : / ? @ and % of a password in percent-encoding");
  }
  try {
    decodeURIComponent(credentials);
  } catch {
    throw refusal("a % of the user name or password is written %25");
  }
}

function parseSettings(query: string): Map<string, string> {
  const settings = new Map<string, string>();
  for (const part of query === "" ? [] : query.split("&")) {
    const [name = "", ...rest] = part.split("=");
    const value = rest.join("=");
    const key = keys.find((known) => known.toLowerCase() === name.toLowerCase());
    if (key === undefined) throw refusal(`there is no setting ${name}; the settings are ${keys.join(", ")}`);
    if (key === "tlsVerifyCert" && value !== "true") {
      throw refusal("tlsVerifyCert=false is not supported; name the certificate authority's file: tlsCAFile=…");
    }
    if (numberKeys.includes(key) && !/^-?\d+$/.test(value)) throw refusal(`${key} must be a whole number`);
    if (positiveKeys.includes(key) && Number(value) <= 0) throw refusal(`${key} must be greater than 0`);
    if (value === "") throw refusal(`${key} has no value`);
    settings.set(key, value);
  }
  return settings;
}

/** Time limits of the client and of the server, in milliseconds, for values other than the defaults. */
const positiveKeys = ["deadlineMs", "defaultDeadline", "turnlogCommitTimeout", "turnlogReadTimeout"];
const ownKeys = ["deadlineMs", "turnlogNamespace", "turnlogCommitTimeout", "turnlogReadTimeout"];

const numberKeys = [
  ...positiveKeys,
  "discoveryInterval",
  "gossipTimeout",
  "keepAliveInterval",
  "keepAliveTimeout",
  "maxDiscoverAttempts",
];

const keys = [
  ...numberKeys,
  "connectionName",
  "dnsDiscover",
  "nodePreference",
  "throwOnAppendFailure",
  "tls",
  "tlsCAFile",
  "tlsVerifyCert",
  "turnlogNamespace",
  "userCertFile",
  "userKeyFile",
];

/** The names of one store's streams on the server. */
export type ParameterNames = {
  /** The server's name of a stream. */
  readonly toServer: (stream: string) => string;
  /** The stream of a name on the server; null if it is not this store's. */
  readonly toStream: (name: string) => string | null;
  /** A regular expression for the names of all streams with the prefix, which matches only streams of this store and its neighbours. */
  readonly pattern: (streamPrefix: string) => string;
  /** The stream that holds the store's id. */
  readonly identity: string;
  /** The stream of a lease, which is not one of the store's streams. */
  readonly lease: (leaseId: string) => string;
};

/** The stream that records a store and its id. It is not one of the store's streams. */
const identityStream = "turnlog-store";

/** The prefix of leases' streams. */
const leasePrefix = "turnlog-lease-";

/**
 * The names of a namespace. The server's prefix filter compares by its machine's culture, where a combining accent after a letter
 * makes another letter. With a regular expression it compares character by character.
 */
export function createNames(namespace: string): ParameterNames {
  // A category ends at the first hyphen, so a namespace keeps conversations in one category: `staging.conversation`.
  const before = namespace === "" ? "" : `${namespace}.`;
  const identity = `${before}${identityStream}`;
  // A store without a namespace also sees the streams of stores with one.
  const reserved = `${before === "" ? "(\\w+\\.)?" : ""}(${leasePrefix}|${identityStream}$)`;
  const isReserved = new RegExp(`^${reserved}`);
  const isOwn = (name: string): boolean =>
    !name.startsWith("$") && name.startsWith(before) && !isReserved.test(name.slice(before.length));
  return {
    toServer(stream) {
      if (
        stream.startsWith(leasePrefix) ||
        stream === identityStream ||
        stream === "" ||
        (before === "" && stream.startsWith("$"))
      ) {
        throw new RangeError(`${JSON.stringify(stream)} is a reserved name: give the stream another name`);
      }
      return `${before}${stream}`;
    },
    toStream: (name) => (isOwn(name) ? name.slice(before.length) : null),
    pattern(streamPrefix) {
      // Excludes renewals on the server, so that followers of the whole store do not receive them.
      if (streamPrefix === "") return `^${escaped(before)}(?!${reserved})${before === "" ? "[^$]" : ""}`;
      return `^${escaped(`${before}${streamPrefix}`)}`;
    },
    identity,
    lease: (leaseId) => `${before}${leasePrefix}${leaseId}`,
  };
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
