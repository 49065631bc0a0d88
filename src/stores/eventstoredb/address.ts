import { StoreUnavailableError } from "../../log/ports/event-store.ts";

/** Where a store is, and how it is reached. */
export type Address = {
  /** What the client takes: `esdb://` or `esdb+discover://`, with credentials. Not for messages. */
  readonly connectionString: string;
  /** The address as people see it, without credentials. */
  readonly shown: string;
  /** Stands before every stream's name, so that several stores share a server; empty for none. */
  readonly namespace: string;
  /** How long opening, an append, or a read without progress is tried, whatever has to be repeated. */
  readonly deadlineMs: number;
  /** How long the server may say nothing to an append, and to a read, before another try. */
  readonly silenceMs: { readonly append: number; readonly read: number };
};

/** What `openStore` hands to this store. */
export const isEventStoreDbAddress = (url: string): boolean => schemePattern.test(url);

/**
 * Reads `esdb://user:password@host:port,host:port?key=value`. `kurrentdb://` and `kdb://` mean the same; the client knows
 * `esdb` only. Keys that begin with `turnlog` are ours, every other key is the client's.
 *
 * @param deadlineMs - Goes before the one in the address.
 * @throws {StoreUnavailableError} that names the part to change.
 */
export function parseAddress(url: string, deadlineMs?: number): Address {
  const scheme = schemePattern.exec(url);
  if (scheme === null) throw refusal("it begins with esdb://, esdb+discover://, kurrentdb:// or kdb://");
  const [authority = "", ...queries] = url.slice(scheme[0].length).split("?");
  const at = authority.lastIndexOf("@");
  const hosts = authority.slice(at + 1).replace(/\/$/, "");
  checkCredentials(authority.slice(0, Math.max(at, 0)), at >= 0);
  if (!hosts.split(",").every((host) => hostPattern.test(host))) {
    throw refusal(`hosts are written host:port,host:port and special characters of a password in percent-encoding`);
  }
  const settings = parseSettings(queries.join("?"));
  const namespace = settings.get("turnlogNamespace") ?? "";
  if (!namespacePattern.test(namespace)) throw refusal("turnlogNamespace is of letters, digits and _");
  // The client's own name for it is in addresses that other programs use as well.
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
 * After so long a silence another try is made: two of them fit into the deadline, so that a node that fell silent is left for
 * another. Who gave up before the server does would ask again while the first answer is still on its way.
 */
const silenceLimit = (serverMs: string | undefined): number | undefined =>
  serverMs === undefined ? undefined : Number(serverMs) * patience;

const patience = 1.25;

const schemePattern = /^(esdb|kurrentdb|kdb)(\+discover)?:\/\//;
const hostPattern = /^[A-Za-z0-9_.-]+(:\d{1,5})?$/;
const namespacePattern = /^[A-Za-z0-9_]{0,64}$/;

/** The server's `CommitTimeoutMs`, unless it is set there. */
const defaultCommitMs = 2_000;

const refusal = (rule: string): StoreUnavailableError =>
  new StoreUnavailableError(`the address of the store cannot be used: ${rule}`);

// The client cuts a password at a second colon without a word.
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
    if (key === undefined) throw refusal(`it knows no setting ${name}; there are ${keys.join(", ")}`);
    if (key === "tlsVerifyCert" && value !== "true") {
      throw refusal("tlsVerifyCert=false is not supported; name the certificate authority's file: tlsCAFile=…");
    }
    if (numberKeys.includes(key) && !/^-?\d+$/.test(value)) throw refusal(`${key} is a whole number`);
    if (positiveKeys.includes(key) && Number(value) <= 0) throw refusal(`${key} is greater than 0`);
    if (value === "") throw refusal(`${key} has no value`);
    settings.set(key, value);
  }
  return settings;
}

/** Milliseconds of the server's own time-outs, where they are not the default ones. */
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

/** The names of streams on the server, of one store. */
export type ParameterNames = {
  /** The server's name of a stream. */
  readonly toServer: (stream: string) => string;
  /** The stream of a name on the server; null for one that is not this store's. */
  readonly toStream: (name: string) => string | null;
  /** An expression for the names of all streams that begin so, and of none but the store's and its neighbours'. */
  readonly pattern: (streamPrefix: string) => string;
  /** Where the store's id is kept. */
  readonly identity: string;
  /** Where a lease is kept: a stream that is none of the store's own. */
  readonly lease: (leaseId: string) => string;
};

/** The stream that says that there is a store, and which. It is none of the store's own streams. */
const identityStream = "turnlog-store";

/** What the names of leases' streams begin with. */
const leasePrefix = "turnlog-lease-";

/**
 * Names of a namespace. The server's filter by prefix compares by the culture of its machine, where an accent that follows
 * makes another letter of the last one; by an expression it compares character by character.
 */
export function createNames(namespace: string): ParameterNames {
  // A category ends at the first hyphen, so conversations stay one category: `staging.conversation`.
  const before = namespace === "" ? "" : `${namespace}.`;
  const identity = `${before}${identityStream}`;
  // Without a namespace, the streams of those that have one are seen as well.
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
        throw new RangeError(`${JSON.stringify(stream)} is reserved, and no name for a stream`);
      }
      return `${before}${stream}`;
    },
    toStream: (name) => (isOwn(name) ? name.slice(before.length) : null),
    pattern(streamPrefix) {
      // Renewals are left out at the server: who follows the whole store is sent none of them.
      if (streamPrefix === "") return `^${escaped(before)}(?!${reserved})${before === "" ? "[^$]" : ""}`;
      return `^${escaped(`${before}${streamPrefix}`)}`;
    },
    identity,
    lease: (leaseId) => `${before}${leasePrefix}${leaseId}`,
  };
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
