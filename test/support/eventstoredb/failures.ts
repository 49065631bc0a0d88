import { Metadata, status } from "@grpc/grpc-js";
import type { ExpectedRevision } from "./event-log.ts";
import { rpcStatus, shared } from "./protocol.ts";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Why a call is refused, independent of how the wire says it. */
export type Failure =
  | {
      readonly kind: "wrong-version";
      readonly stream: string;
      readonly expected: ExpectedRevision;
      readonly actual: bigint;
    }
  | { readonly kind: "deleted"; readonly stream: string }
  | { readonly kind: "access-denied" }
  | { readonly kind: "unauthenticated" }
  | { readonly kind: "timeout" }
  | { readonly kind: "too-large"; readonly maxBytes: number }
  | { readonly kind: "not-ready" }
  | { readonly kind: "not-leader"; readonly leader: Endpoint | null }
  | { readonly kind: "bad-request"; readonly message: string }
  | { readonly kind: "missing-metadata"; readonly property: string }
  | { readonly kind: "invalid-position"; readonly operation: "read" | "subscribe" }
  | { readonly kind: "bad-read" }
  | { readonly kind: "too-slow" }
  | { readonly kind: "status"; readonly code: status; readonly details: string };

/** Ends a call; the shape is what grpc-js sends as status and trailers. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
  readonly failure: Failure;

  constructor(failure: Failure) {
    const [code, details, trailers] = trailersOf(failure);
    super(details);
    this.code = code;
    this.details = details;
    this.failure = failure;
    this.metadata = new Metadata();
    for (const [key, value] of Object.entries(trailers)) this.metadata.set(key, value);
  }
}

/** What a handler threw, as the call's end: anything unexpected is what .NET makes of an exception. */
export const asCallError = (error: unknown): CallError =>
  error instanceof CallError ? error : new CallError({ kind: "status", code: status.UNKNOWN, details: String(error) });

const numberOf = (expected: ExpectedRevision): bigint => {
  if (expected === "any") return -2n;
  if (expected === "no_stream") return -1n;
  return expected === "stream_exists" ? -4n : expected;
};

/** Status code, text and trailers, as the real server's RpcExceptions. */
function trailersOf(failure: Failure): readonly [status, string, Readonly<Record<string, string>>] {
  switch (failure.kind) {
    case "wrong-version":
      return [
        status.FAILED_PRECONDITION,
        `Append failed due to WrongExpectedVersion. Stream: ${failure.stream}, Expected version: ${numberOf(failure.expected)}, Actual version: ${failure.actual}`,
        {
          exception: "wrong-expected-version",
          "stream-name": failure.stream,
          "expected-version": String(numberOf(failure.expected)),
          "actual-version": String(failure.actual),
        },
      ];
    case "deleted":
      return [
        status.FAILED_PRECONDITION,
        `Event stream '${failure.stream}' is deleted.`,
        { exception: "stream-deleted", "stream-name": failure.stream },
      ];
    case "access-denied":
      return [status.PERMISSION_DENIED, "Access Denied", { exception: "access-denied" }];
    case "unauthenticated":
      return [status.UNAUTHENTICATED, "Bad gRPC response. HTTP status code: 401", {}];
    case "timeout":
      return [status.ABORTED, "Operation timed out: ", {}];
    case "too-large":
      return [
        status.INVALID_ARGUMENT,
        `Maximum Append Size of ${failure.maxBytes} Exceeded.`,
        { exception: "maximum-append-size-exceeded", "maximum-append-size": String(failure.maxBytes) },
      ];
    case "not-ready":
      return [status.UNAVAILABLE, "Server Is Not Ready", {}];
    case "not-leader":
      return failure.leader === null
        ? [status.UNKNOWN, "No leader info available in response", {}]
        : [
            status.NOT_FOUND,
            "Leader info available",
            {
              exception: "not-leader",
              "leader-endpoint-host": failure.leader.host,
              "leader-endpoint-port": String(failure.leader.port),
            },
          ];
    case "bad-request":
      return [status.UNKNOWN, `Exception was thrown by handler. FormatException: ${failure.message}`, {}];
    case "missing-metadata":
      return [
        status.INVALID_ARGUMENT,
        `Required Metadata Property '${failure.property}' is missing`,
        { exception: "missing-required-metadata-property", "required-metadata-properties": "type,content-type" },
      ];
    case "invalid-position":
      return failure.operation === "read"
        ? [status.UNKNOWN, "Unexpected FilteredReadAllResult: InvalidPosition", {}]
        : [status.INVALID_ARGUMENT, "Trying to read from an invalid position.", {}];
    case "bad-read":
      return [status.UNKNOWN, "Unexpected ReadStreamResult: Error", {}];
    case "too-slow":
      return [
        status.ABORTED,
        "Operation timed out: Consumer too slow to handle event while live. Client resubscription required.",
        {},
      ];
    case "status":
      return [failure.code, failure.details, {}];
  }
}

interface Packed {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/**
 * The same failure as the answer to one append of a batch: a `google.rpc.Status` with a packed detail. Null for what
 * ends the whole batch stream instead.
 */
export function batchStatus(failure: Failure): InstanceType<typeof rpcStatus.Status> | null {
  switch (failure.kind) {
    case "wrong-version":
      return statusOf(6, "WrongExpectedVersion", {
        type: "event_store.client.WrongExpectedVersion",
        bytes: wrongVersion(failure),
      });
    case "deleted": {
      const name = new shared.StreamIdentifier().setStreamName(Buffer.from(failure.stream));
      const bytes = new shared.StreamDeleted().setStreamIdentifier(name).serializeBinary();
      return statusOf(5, "StreamDeleted", { type: "event_store.client.StreamDeleted", bytes });
    }
    case "access-denied":
      return statusOf(7, "AccessDenied", packed("event_store.client.AccessDenied"));
    case "timeout":
      return statusOf(4, "Timeout", packed("event_store.client.Timeout"));
    case "too-large": {
      const bytes = new shared.MaximumAppendSizeExceeded().setMaxappendsize(failure.maxBytes).serializeBinary();
      return statusOf(3, "MaximumAppendSizeExceeded", { type: "event_store.client.MaximumAppendSizeExceeded", bytes });
    }
    case "not-ready":
      return statusOf(0, "Server Is Not Ready", packed("google.protobuf.Empty"));
    case "not-leader":
      return failure.leader === null
        ? statusOf(0, "No leader info available in response", packed("google.protobuf.Empty"))
        : null;
    case "missing-metadata":
    case "bad-request": {
      const message =
        failure.kind === "bad-request" ? failure.message : `The given key '${failure.property}' was not present.`;
      const bytes = new shared.BadRequest().setMessage(message).serializeBinary();
      return statusOf(3, "BadRequest", { type: "event_store.client.BadRequest", bytes });
    }
    default:
      return null;
  }
}

const packed = (type: string): Packed => ({ type, bytes: new Uint8Array() });

/** `WrongExpectedVersion` { current: 1 revision or 2 none, expected: 3 revision, 4 any, 5 stream exists or 6 no stream }. */
function wrongVersion({ actual, expected }: Failure & { readonly kind: "wrong-version" }): Uint8Array {
  const nothing = new Uint8Array();
  const current = actual < 0n ? field(2, nothing) : uint64(1, actual);
  if (typeof expected === "bigint") return Buffer.concat([current, uint64(3, expected)]);
  return Buffer.concat([current, field({ any: 4, stream_exists: 5, no_stream: 6 }[expected], nothing)]);
}

/** `google.rpc.Status` { 1: code, 2: message, 3: Any { 1: type url, 2: value } }, written byte by byte: the client does not export Any. */
function statusOf(code: number, message: string, detail: Packed): InstanceType<typeof rpcStatus.Status> {
  const any = Buffer.concat([field(1, Buffer.from(`type.googleapis.com/${detail.type}`)), field(2, detail.bytes)]);
  const bytes = Buffer.concat([Buffer.from([8, code]), field(2, Buffer.from(message)), field(3, any)]);
  return rpcStatus.Status.deserializeBinary(bytes);
}

const uint64 = (number: number, value: bigint): Buffer => Buffer.concat([Buffer.from([number << 3]), varint(value)]);

const field = (number: number, bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([(number << 3) | 2]), varint(BigInt(bytes.length)), bytes]);

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}
