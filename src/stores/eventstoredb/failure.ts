import { setTimeout as sleep } from "node:timers/promises";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { AccessRequest } from "../../log/authorized-store.ts";
import { EventTooLargeError, StoreCorruptedError, StoreUnavailableError } from "../../log/ports/event-store.ts";

export type FailureKind =
  /** Passes: no connection, a leader that changes, a time limit. What was asked may have been done. */
  | "passing"
  /** Does not pass until somebody changes a setting. */
  | "setting"
  | "denied"
  | "too-large"
  | "deleted"
  /** The place in the log at which the reading was to begin is none. */
  | "position"
  | "invalid";

/** Why the server or the way to it did not do what was asked, before it is told in the port's words. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** What a call ended with: a status of gRPC with trailers, or an error of the client. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (!(error instanceof Error)) return new Failure("passing", String(error), { cause: error });
  const { code, details, exception } = statusOf(error);
  if (/invalid ?position/i.test(details)) return new Failure("position", details, { cause: error });
  const advice = adviceFor(details);
  if (advice !== null) return new Failure("setting", advice, { cause: error });
  return new Failure(kindByException.get(exception) ?? kindByCode.get(code) ?? "passing", details, { cause: error });
}

/** A call to which nobody answered. */
export class TimeoutFailure extends Failure {
  constructor(limitMs: number) {
    super(
      "passing",
      `no answer within ${limitMs} ms, which follows from defaultDeadline in the address and the server's own time-outs`,
    );
  }
}

/** The port's error for a failure, with the setting to change. */
export function portError(failure: Failure, shown: string, request: AccessRequest): Error {
  const { kind, message } = failure;
  // What the client said; the failure itself is only our name for it.
  const options = { cause: failure.cause ?? failure };
  switch (kind) {
    case "passing":
      return new StoreUnavailableError(`${shown} is not available (${message}): ${passingAdvice}`, options);
    case "setting":
      return new StoreUnavailableError(`${shown} cannot be used: ${message}`, options);
    case "denied": {
      // Beginnings of names are looked for in $all, which only administrators may read by default.
      const place = request.stream.endsWith("*") ? "$all" : request.stream;
      return new TurnlogError(
        "access-denied",
        `the user in the address is not allowed to ${request.action} ${place} at ${shown}: give it that right (the $acl of ${place}, or a role), or name another user`,
        options,
      );
    }
    case "too-large":
      return new EventTooLargeError(
        `${shown} takes less than turnlog sends (${message}): raise its MaxAppendSize to 1048576 or more`,
        options,
      );
    case "deleted":
      return new StoreCorruptedError(`${request.stream} was deleted at ${shown}: restore it from a copy`, options);
    case "position":
      return new StoreCorruptedError(
        `${shown} has no such place in its log (${message}): it is another store's, or the log was restored to an earlier time; read from the beginning, and make anew what was made of it`,
        options,
      );
    case "invalid":
      return new StoreCorruptedError(`${shown} refused to ${request.action} ${request.stream}: ${message}`, options);
  }
}

const passingAdvice =
  "check host and port, that the server is up and has a leader, and that tls=true or false is right";

/**
 * Whether an error of a call says that its connection leads nowhere, or no more to the leader, and whether the server says which one
 * does. What this process cancelled says nothing of the server.
 */
export function connectionLoss(error: Error): { readonly isLost: boolean; readonly namesLeader: boolean } {
  const { code, details, exception } = statusOf(error);
  const isEnded = code === 14 || (code === 1 && details !== "Cancelled on client");
  const isNamed = (part: string): boolean => trailerOf(error, `leader-endpoint-${part}`) !== "";
  const isElsewhere = exception === "not-leader";
  return { isLost: isEnded || isElsewhere, namesLeader: isElsewhere && isNamed("host") && isNamed("port") };
}

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
const kindByException = new Map<string, FailureKind>([
  ["access-denied", "denied"],
  ["maximum-append-size-exceeded", "too-large"],
  ["stream-deleted", "deleted"],
  ["not-leader", "passing"],
]);

// https://grpc.github.io/grpc/core/md_doc_statuscodes.html
const kindByCode = new Map<number, FailureKind>([
  [3, "invalid"],
  [7, "denied"],
  [12, "setting"],
  [16, "setting"],
]);

/** Failures that a server's restart does not cure, by the texts of Node, OpenSSL and grpc-js. */
function adviceFor(details: string): string | null {
  for (const [pattern, advice] of advices) if (pattern.test(details)) return `${advice} (${details})`;
  return null;
}

const advices: readonly (readonly [RegExp, string])[] = [
  [
    /self[- ]signed certificate|unable to (verify|get)|certificate (has expired|is not yet valid)|CERT_|unable to get local issuer/i,
    "its certificate is not trusted; name the certificate authority's file in the address (tlsCAFile=ca.crt), or in NODE_EXTRA_CA_CERTS",
  ],
  [/Hostname\/IP does not match/i, "its certificate is for another host; use the name that stands in it"],
  [/wrong version number|packet length too long|EPROTO/i, "it does not speak TLS; add tls=false to the address"],
  [/Name resolution failed|ENOTFOUND|EAI_AGAIN/i, "its host is not known; correct the host in the address"],
  [
    /HTTP status code: 401|UNAUTHENTICATED/i,
    "it refused the user name or password; correct user:password in the address (percent-encoded)",
  ],
];

/** What an append's own answer says, by the type of its detail: the second part of a packed message's URL. */
export function failureOfAppend(type: string, message: string): Failure {
  return new Failure(kindByDetail.get(type) ?? "passing", message === "" ? type : message);
}

const kindByDetail = new Map<string, FailureKind>([
  ["event_store.client.AccessDenied", "denied"],
  ["event_store.client.MaximumAppendSizeExceeded", "too-large"],
  ["event_store.client.MaximumAppendEventSizeExceeded", "too-large"],
  ["event_store.client.StreamDeleted", "deleted"],
  ["event_store.client.BadRequest", "invalid"],
]);

export type RetryPolicy = {
  /**
   * Waits before another try, longer each time.
   *
   * @throws {unknown} the error itself when it does not pass, or when the time for it is over.
   */
  readonly wait: (error: unknown) => Promise<void>;
  /** Something went well: the time begins anew. */
  readonly restore: () => void;
};

export type RetryOptions = {
  /** How long to go on trying after the last success; for ever where infinite. */
  readonly forMs: number;
  /** Ends a wait early, without an error: the waiting caller looks at it. */
  readonly signal?: AbortSignal;
};

/** Tells failures that pass from those that do not, and how long to try again. */
export function createRetryPolicy({ forMs, signal }: RetryOptions): RetryPolicy {
  let since = performance.now();
  let tries = 0;
  let silences = 0;
  return {
    async wait(error) {
      if (!(error instanceof Failure) || error.kind !== "passing") throw error;
      const pauseMs = Math.min(firstPauseMs * 2 ** tries, longestPauseMs);
      if (error instanceof TimeoutFailure) {
        // It took its time already, which says nothing of the time that the way to the server is lost.
        silences += 1;
        since = performance.now();
        if (silences === maxSilences && forMs < Number.POSITIVE_INFINITY) throw error;
      }
      if (performance.now() + pauseMs - since >= forMs) throw error;
      tries += 1;
      await sleep(pauseMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    },
    restore() {
      since = performance.now();
      tries = 0;
      silences = 0;
    },
  };
}

/** How often nobody may answer before it is told. */
export const maxSilences = 2;

const firstPauseMs = 10;

/** So long that a cluster without a leader is not overrun, and so short that nobody waits for long once it has one. */
const longestPauseMs = 1_000;
