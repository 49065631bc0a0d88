import type { FailureKind } from "../../engine/ports/provider-error.ts";

type NetworkFailure = {
  readonly kind: FailureKind;
  readonly outcome: "rejected" | "unknown";
  readonly message: string;
};

/** Classifies a failure without an answer: `rejected` only if nothing can have been sent. Pure. */
export function classifyNetworkFailure(cause: unknown): NetworkFailure {
  const chain = causesOf(cause);
  const reason = chain.findLast((error) => error.message !== "")?.message ?? "no reason given";
  const names = new Set(chain.flatMap(({ name, code }) => [name, code ?? ""]));
  if (names.has("TimeoutError")) {
    return { kind: "connection", outcome: "unknown", message: "the provider did not answer in time" };
  }
  if (names.has("AbortError")) {
    return { kind: "aborted", outcome: "unknown", message: "the request was aborted" };
  }
  const isUnsent = chain.some(
    ({ code = "", syscall, message }) => neverConnected.has(code) || syscall === "connect" || message === "bad port",
  );
  return {
    kind: "connection",
    outcome: isUnsent ? "rejected" : "unknown",
    message: isUnsent ? `cannot reach the provider: ${reason}` : `the connection to the provider broke: ${reason}`,
  };
}

/** Codes of Node and undici for failures before the first byte of a request is written. */
const neverConnected: ReadonlySet<string> = new Set([
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "ERR_INVALID_URL",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UND_ERR_CONNECT_TIMEOUT",
]);

type Cause = {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly syscall?: string | undefined;
};

/** An error, its causes, and the attempts that an AggregateError collects. */
function causesOf(cause: unknown, depth = 0): readonly Cause[] {
  if (!(cause instanceof Error) || depth > maxCauses) return [];
  const { name, message } = cause;
  const attempts: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [];
  return [
    { name, message, code: member(cause, "code"), syscall: member(cause, "syscall") },
    ...[cause.cause, ...attempts].flatMap((inner) => causesOf(inner, depth + 1)),
  ];
}

const maxCauses = 8;

function member(error: Error, name: string): string | undefined {
  const value: unknown = Reflect.get(error, name);
  return typeof value === "string" ? value : undefined;
}
