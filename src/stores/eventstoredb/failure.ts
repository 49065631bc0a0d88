import { TurnlogError } from "../../base/turnlog-error.ts";
import type { AccessRequest } from "../../log/access/authorized-store.ts";
import {
  EventTooLargeError,
  StoreCorruptedError,
  StoreReplacedError,
  StoreUnavailableError,
} from "../../log/ports/store-errors.ts";

export type EsdbFailureKind =
  /** Temporary: no connection, a change of leader, a time limit. The request may have been executed. */
  | "passing"
  /** The server shows less than this process has seen: its index is behind or, if that persists, the server was set back. */
  | "behind"
  /** The server holds another store, or another history, than the one that was opened. */
  | "replaced"
  /** Permanent until a setting is changed. */
  | "setting"
  | "denied"
  | "too-large"
  | "deleted"
  /** The position at which the read should begin is invalid. */
  | "position"
  | "invalid";

/** Why the server, or the connection to it, did not do what was asked; later translated into an error of the port. */
export class EsdbFailure extends Error {
  override readonly name = "Failure";
  readonly kind: EsdbFailureKind;

  constructor(kind: EsdbFailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Classifies the error of a call: a gRPC status with trailers, or an error of the client. */
export function esdbFailureOf(error: unknown): EsdbFailure {
  if (error instanceof EsdbFailure) return error;
  if (!(error instanceof Error)) return new EsdbFailure("passing", String(error), { cause: error });
  const { code, details, exception } = statusOf(error);
  if (/invalid ?position/i.test(details)) return new EsdbFailure("position", details, { cause: error });
  const advice = adviceFor(details);
  if (advice !== null) return new EsdbFailure("setting", advice, { cause: error });
  return new EsdbFailure(kindByException.get(exception) ?? kindByCode.get(code) ?? "passing", details, {
    cause: error,
  });
}

/** A call without an answer in time. */
export class TimeoutFailure extends EsdbFailure {
  readonly limitMs: number;

  constructor(limitMs: number) {
    super(
      "passing",
      `no answer within ${Math.round(limitMs)} ms, which follows from deadlineMs and the server's own time-outs`,
    );
    this.limitMs = limitMs;
  }
}

/** The port's error for a failure, with the setting to change. */
export function portError(failure: EsdbFailure, shown: string, request: AccessRequest): Error {
  const { kind, message } = failure;
  // The client's own error; the failure only classifies it.
  const options = { cause: failure.cause ?? failure };
  switch (kind) {
    case "passing":
      return new StoreUnavailableError(`${shown} is not available (${message}): ${passingAdvice}`, options);
    case "behind":
    case "replaced":
      return new StoreReplacedError(
        `${shown} is not the store that was opened here (${message}): nothing was written; open it again, and rebuild what was made from the lost events`,
        options,
      );
    case "setting":
      return new StoreUnavailableError(`${shown} cannot be used: ${message}`, options);
    case "denied": {
      // Searching by prefix reads $all, which by default only administrators may read.
      const place = request.stream.endsWith("*") ? "$all" : request.stream;
      return new TurnlogError(
        "access-denied",
        `the user in the address is not allowed to ${request.action} ${place} at ${shown}: give it that right (the $acl of ${place}, or a role), or name another user`,
        options,
      );
    }
    case "too-large":
      return new EventTooLargeError(
        `${shown} accepts less than turnlog sends (${message}): raise its MaxAppendSize to 1048576 or more`,
        options,
      );
    case "deleted":
      return new StoreCorruptedError(`${request.stream} was deleted at ${shown}: restore it from a copy`, options);
    case "position":
      return new StoreCorruptedError(
        `${shown} has no such place in its log (${message}): it is of another store, or the log was restored to an earlier time; read from the beginning, and rebuild what was made from the log`,
        options,
      );
    case "invalid":
      return new StoreCorruptedError(`${shown} refused to ${request.action} ${request.stream}: ${message}`, options);
  }
}

const passingAdvice =
  "check host and port, that the server is up and has a leader, and that tls=true or false is right";

/**
 * Whether an error of a call means that its connection is dead or no longer leads to the leader, and whether the server names the
 * leader. A call that this process cancelled says nothing about the server.
 */
export function connectionLoss(error: Error): ConnectionLoss {
  const { code, details, exception } = statusOf(error);
  const isOurs = code === 1 && details === "Cancelled on client";
  const isEnded = code === 14 || (code === 1 && !isOurs);
  const isNamed = (part: string): boolean => trailerOf(error, `leader-endpoint-${part}`) !== "";
  const isElsewhere = exception === "not-leader";
  return { isLost: isEnded || isElsewhere, isOurs, namesLeader: isElsewhere && isNamed("host") && isNamed("port") };
}

type ConnectionLoss = {
  readonly isLost: boolean;
  /** This process cancelled the call. */
  readonly isOurs: boolean;
  readonly namesLeader: boolean;
};

type CallStatus = { readonly code: number; readonly details: string; readonly exception: string };

function statusOf(error: Error): CallStatus {
  const code = "code" in error && typeof error.code === "number" ? error.code : -1;
  const details = "details" in error && typeof error.details === "string" ? error.details : error.message;
  return { code, details, exception: trailerOf(error, "exception") };
}

function trailerOf(error: Error, name: string): string {
  const trailers = "metadata" in error ? error.metadata : null;
  if (typeof trailers !== "object" || trailers === null || !("get" in trailers)) return "";
  const { get } = trailers;
  if (typeof get !== "function") return "";
  const values: unknown = get.call(trailers, name);
  return Array.isArray(values) ? String(values[0] ?? "") : "";
}

// https://github.com/kurrent-io/KurrentDB, RpcExceptions.cs
const kindByException = new Map<string, EsdbFailureKind>([
  ["access-denied", "denied"],
  ["maximum-append-size-exceeded", "too-large"],
  ["stream-deleted", "deleted"],
  ["not-leader", "passing"],
]);

// https://grpc.github.io/grpc/core/md_doc_statuscodes.html
const kindByCode = new Map<number, EsdbFailureKind>([
  [3, "invalid"],
  [7, "denied"],
  [12, "setting"],
  [16, "setting"],
]);

/** Advice for failures that restarting the server does not fix, by the texts of Node, OpenSSL and grpc-js. */
function adviceFor(details: string): string | null {
  for (const [pattern, advice] of advices) if (pattern.test(details)) return `${advice} (${details})`;
  return null;
}

const advices: readonly (readonly [RegExp, string])[] = [
  [
    /self[- ]signed certificate|unable to (verify|get)|certificate (has expired|is not yet valid)|CERT_|unable to get local issuer/i,
    "its certificate is not trusted; name the certificate authority's file in the address (tlsCAFile=ca.crt), or in NODE_EXTRA_CA_CERTS",
  ],
  [/Hostname\/IP does not match/i, "its certificate is for another host; use the host name in the certificate"],
  [/wrong version number|packet length too long|EPROTO/i, "it does not speak TLS; add tls=false to the address"],
  [/Name resolution failed|ENOTFOUND|EAI_AGAIN/i, "its host is unknown; correct the host in the address"],
  [
    /HTTP status code: 401|UNAUTHENTICATED/i,
    "it refused the user name or password; correct user:password in the address (percent-encoded)",
  ],
];

/** Classifies the answer to an append, by the type of its detail: the second part of a packed message's URL. */
export function failureOfAppend(type: string, message: string): EsdbFailure {
  return new EsdbFailure(kindByDetail.get(type) ?? "passing", message === "" ? type : message);
}

const kindByDetail = new Map<string, EsdbFailureKind>([
  ["event_store.client.AccessDenied", "denied"],
  ["event_store.client.MaximumAppendSizeExceeded", "too-large"],
  ["event_store.client.MaximumAppendEventSizeExceeded", "too-large"],
  ["event_store.client.StreamDeleted", "deleted"],
  ["event_store.client.BadRequest", "invalid"],
]);
