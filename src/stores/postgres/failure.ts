import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import {
  StoreCorruptedError,
  StoreNotFoundError,
  StoreReplacedError,
  StoreUnavailableError,
} from "../../log/ports/store-errors.ts";
import type { PostgresAddress } from "./address.ts";

/** Codes that turnlog's own functions raise. */
export const raised = {
  /** The schema holds the store of another id. */
  otherStore: "TL001",
  /** The sequence is behind a position that this process has seen committed. */
  setBack: "TL002",
  /** The transaction is not `read committed`, on which the order of the log depends. */
  isolation: "TL003",
} as const;

/** A failure of a connection that the server did not report: no statement got an answer. */
export class ConnectionFailure extends Error {}

/** The SQLSTATE of an error of the server, or the code of an error of the connection; empty for an error without one. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/** A SQLSTATE has five characters and a digit among them; none of Node's codes for connections does. */
const isFromServer = (code: string): boolean => /^(?=.*\d)[0-9A-Z]{5}$/.test(code);

/**
 * Whether the same call may succeed later: the connection was lost, the server starts, stops or fails over, or a limit was reached. What
 * the call did is unknown.
 */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error);
  if (error instanceof TurnlogError || isBug(error)) return false;
  if (!isFromServer(code)) return error instanceof Error && lastingReason(error) === null;
  return /^(08|53|57)/.test(code) || passingCodes.includes(code);
}

/** Besides whole classes: read-only, lost races, and a lock that was not granted in time. */
const passingCodes = ["25006", "40001", "40P01", "55P03"];

/** An error of this code or of its caller, which no server caused. */
const isBug = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;

/** Whether the connection cannot be used any more after this error. */
export const isOfConnection = (error: unknown): boolean => {
  const code = codeOf(error);
  return !isFromServer(code) || /^(08|57P|25006)/.test(code);
};

/** Whether a pooler gave the statement to a server connection that does not have it, or has it already: nothing was executed. */
export const isPreparedElsewhere = (error: unknown): boolean => ["42P05", "26000"].includes(codeOf(error));

export type PortErrorOptions = {
  readonly address: PostgresAddress;
  /** Whether the store is being opened: a missing table then means that there is no store. */
  readonly isOpening?: boolean;
  /** Whether the call was about snapshots or rows of projections, which readers do without. */
  readonly isDerived?: boolean;
};

/** Translates an error into one of the port, with one sentence that says what to do; errors of turnlog stay as they are. */
export function portError(
  error: unknown,
  { address, isOpening = false, isDerived = false }: PortErrorOptions,
): unknown {
  if (!(error instanceof Error) || error instanceof TurnlogError || isBug(error)) return error;
  const code = codeOf(error);
  const { shown, schema } = address;
  const options = { cause: error };
  if (!isFromServer(code))
    return new StoreUnavailableError(`${shown} ${lastingReason(error) ?? lostReason(error)}`, options);
  if (missing.includes(code)) {
    return isOpening
      ? new StoreNotFoundError(noStore(address), options)
      : new StoreReplacedError(
          `the schema ${schema} at ${shown} was removed while it was open: restore it, then open the store again`,
          options,
        );
  }
  if (code === raised.otherStore)
    return new StoreReplacedError(
      `${shown} now holds another store than the one that was opened: open it again`,
      options,
    );
  if (code === raised.setBack)
    return new StoreReplacedError(
      `${shown} holds less than this process has seen, because a backup was restored or a replica without the newest events took over: open the store again`,
      options,
    );
  if (code === "3D000")
    return new StoreNotFoundError(
      `${shown} names a database that does not exist: create it (createdb), or correct the address`,
      options,
    );
  if (code === "42501" && isDerived)
    return new StoreUnavailableError(`the user in the address may only read ${shown}`, options);
  if (code === "42501") {
    return new TurnlogError(
      "access-denied",
      `the user in the address may not do that at ${shown} (${error.message}): run the statements that \`turnlog store grants\` prints`,
      options,
    );
  }
  if (["XX001", "XX002", "22021", "22P05"].includes(code) || code.startsWith("23"))
    return new StoreCorruptedError(`${shown} is damaged (${error.message}): restore it from a backup`, options);
  const reason = /statement pooling/.test(error.message) ? statementPooling : unavailableReason(code, address);
  if (reason === null)
    return new Error(
      `Postgres refused a statement of turnlog at ${shown} (${code}: ${error.message}); the store is not damaged`,
      options,
    );
  return new StoreUnavailableError(`${shown} ${reason}: ${error.message}`, options);
}

/** The schema, a table or a function does not exist. */
const missing = ["3F000", "42P01", "42883"];

const noStore = ({ shown, schema }: PostgresAddress): string =>
  `there is no turnlog store in the schema ${schema} at ${shown}: create it with \`turnlog store init\``;

/** Why the same connection attempt will fail again, and what to change; null for a failure that may pass. */
function lastingReason(error: Error): string | null {
  const code = codeOf(error);
  if (code === "ENOTFOUND") return "names a host that does not exist: correct the address";
  if (/does not support SSL/.test(error.message))
    return "does not speak TLS: turn it on there, or add sslmode=disable if that network is private";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `has a certificate of another host (${error.message}): use the host that it names, or sslmode=verify-ca`;
  if (certificateCodes.has(code))
    return `has a certificate that is not trusted here (${error.message}): name the file of its authority, sslrootcert=…`;
  if (/password must be a string|client password must be/i.test(error.message))
    return "asks for a password: add it to the address (user:password@), or set PGPASSWORD";
  return null;
}

const certificateCodes: ReadonlySet<string> = new Set([
  ...["SELF_SIGNED_CERT_IN_CHAIN", "DEPTH_ZERO_SELF_SIGNED_CERT", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
  ...["UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"],
  ...["CERT_SIGNATURE_FAILURE", "CERT_UNTRUSTED", "CERT_REJECTED", "INVALID_CA", "ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE"],
]);

/** Several addresses of one host were tried: the error has no message of its own. */
const lostReason = (error: Error): string => {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return `cannot be reached (${messageOf(first)}): check that the server runs there`;
};

/** What pgbouncer says has the code of any violated protocol. */
const statementPooling = "is behind a pooler that pools by statement: set it to pool by transaction";

function unavailableReason(code: string, { schema }: PostgresAddress): string | null {
  if (code === "28P01") return "rejects the user or the password: correct them in the address";
  if (code.startsWith("28")) return "does not let this user in: correct the address, or pg_hba.conf there";
  if (code === "25006") return "is read-only: name the primary, or list all hosts so that turnlog finds it";
  if (code === "53100") return "cannot write because its disk is full: free some space there";
  if (code === "53300") return "has no connection left: raise max_connections, or put a pooler before it";
  if (code === "57014")
    return "ended a statement after its time limit: raise statement_timeout of this role (ALTER ROLE … SET …)";
  if (code === "55P03") return `did not grant a lock in time: find who locks tables of the schema ${schema} (pg_locks)`;
  if (code === raised.isolation)
    return "must run transactions as read committed: set default_transaction_isolation of this role (ALTER ROLE … SET …)";
  if (isPassing(Object.assign(new Error(), { code }))) return "does not serve requests at the moment";
  return null;
}
