import { describe, expect, test } from "vitest";
import { classifyFailure } from "../../../src/providers/failures/classify-error.ts";
import { catalogue } from "../../support/providers/error-catalogue.ts";
import { dialects, inStream, numbered, transport } from "../../support/providers/error-dialects.ts";
import { error } from "../../support/providers/error-row.ts";

describe.each([
  ["the error catalogue", catalogue],
  ["other servers", dialects],
  ["HTTP", transport],
  ["streams", inStream],
  ["codes that are numbers", numbered],
])("%s", (_, rows) => {
  test.each(rows.map((row) => [row.of, row.kind, row] as const))("%s: %s", (_of, kind, row) => {
    const { status = null, body, outcome = "rejected" } = row;
    const failure = classifyFailure({ status, body });
    expect(failure).toMatchObject({ kind, outcome });
    expect(failure.message).not.toBe("");
    // The content type is not asked: the same body as text means the same.
    expect(classifyFailure({ status, body: typeof body === "string" ? body : JSON.stringify(body) })).toEqual(failure);
  });
});

test.each(numbered)("$of: under HTTP 200 it means the same", ({ body, kind, outcome = "rejected" }) => {
  expect(classifyFailure({ status: 200, body })).toMatchObject({ kind, outcome });
});

describe("a quota that is used up is not worth another attempt", () => {
  test.each([
    [429, { code: "insufficient_quota" }],
    [429, { type: "insufficient_quota" }],
    [402, {}],
    [402, { type: "billing_error" }],
    [null, { code: 402 }],
    [429, { code: "billing_hard_limit_reached" }],
  ])("HTTP %s %j", (status, fields) => {
    const body = error("You exceeded your current quota", fields);
    expect(classifyFailure({ status, body })).toMatchObject({
      ...{ kind: "rate-limited", outcome: "rejected", shouldRetry: false },
    });
  });

  test("but where the server says otherwise", () => {
    const headers = new Headers({ "x-should-retry": "true" });
    const body = error("?", { code: "insufficient_quota" });
    expect(classifyFailure({ status: 429, headers, body }).shouldRetry).toBe(true);
  });
});

test.each([503, 529])("HTTP %i says that there is no room: nothing was done", (status) => {
  expect(classifyFailure({ status, body: "" })).toMatchObject({ kind: "server-error", outcome: "rejected" });
});

describe("without a status", () => {
  const told = (fields: { readonly code?: string; readonly message?: string }) =>
    classifyFailure({ body: { type: "error", ...fields } });

  test.each([
    ["previous_response_not_found", "lost-state"],
    ["websocket_connection_limit_reached", "lost-state"],
    ["conversation_locked", "conversation-locked"],
    ["concurrent_request", "conversation-locked"],
    ["conversation_not_found", "conversation-not-found"],
    ["context_length_exceeded", "context-length-exceeded"],
    ["exceed_context_size_error", "context-length-exceeded"],
    ["invalid_encrypted_content", "invalid-encrypted-content"],
    ["rate_limit_exceeded", "rate-limited"],
    ["slow_down", "rate-limited"],
    ["too_many_requests", "rate-limited"],
    ["insufficient_quota", "rate-limited"],
    ["usage_limit_reached", "rate-limited"],
    ["usage_not_included", "rate-limited"],
    ["invalid_api_key", "authentication"],
    ["authentication_error", "authentication"],
    ["server_error", "server-error"],
    ["server_is_overloaded", "server-error"],
    ["vector_store_timeout", "server-error"],
    ["model_error", "server-error"],
    ["bio_policy", "invalid-request"],
    ["misalignment_policy_violation", "invalid-request"],
    ["data_residency_mismatch", "invalid-request"],
    ["model_not_found", "invalid-request"],
    ["mutually_exclusive_parameters", "invalid-request"],
    ["unsupported_value", "invalid-request"],
  ])("the code %s says enough: %s", (code, kind) => {
    expect(told({ code, message: "?" })).toMatchObject({
      kind,
      outcome: kind === "server-error" ? "unknown" : "rejected",
    });
  });

  test.each([
    ["Another process is currently operating on this conversation.", "conversation-locked"],
    ["Responses websocket connection limit reached (60 minutes).", "lost-state"],
    ["Your input exceeds the context window of this model.", "context-length-exceeded"],
    ["Rate limit reached for M in organization org-x.", "rate-limited"],
    ["The usage limit has been reached", "rate-limited"],
    ["previous_response_id is not supported by this server", "chaining-unsupported"],
    ["Unrecognized request argument supplied: previous_response_id", "chaining-unsupported"],
  ])("the words say enough: %s", (message, kind) => {
    expect(told({ message })).toMatchObject({ kind, outcome: "rejected" });
  });

  test("words in the middle of a message say nothing", () => {
    expect(told({ message: "The model wrote: No tool output found for function call" }).kind).toBe("unknown");
  });
});

describe("when to come back", () => {
  const retryAfter = (headers: Record<string, string>, message = "Slow down") =>
    classifyFailure({ status: 429, headers: new Headers(headers), body: error(message) }).retryAfterMs;

  test("is read from the header in milliseconds first", () => {
    expect(retryAfter({ "retry-after-ms": "150", "retry-after": "2" })).toBe(150);
  });
  test("is read from the header in seconds", () => {
    expect(retryAfter({ "retry-after": "2" })).toBe(2000);
  });
  test("is read from a date, against the date of the answer", () => {
    const dates = { date: "Sat, 21 Nov 2026 10:00:00 GMT", "retry-after": "Sat, 21 Nov 2026 10:00:30 GMT" };
    expect(retryAfter(dates)).toBe(30_000);
  });
  test("is read from the message where no header says it", () => {
    expect(retryAfter({}, "Rate limit reached. Please try again in 28ms. Visit us.")).toBe(28);
    expect(retryAfter({}, "Rate limit reached. Please try again in 1.5s.")).toBe(1500);
  });
  test.each([
    ["34.074s", 34_074],
    ["5s", 5_000],
    ["0s", 0],
    ["soon", null],
    [{ seconds: 3 }, null],
  ])("is read from the RetryInfo of Google's errors (%j)", (retryDelay, expected) => {
    const details = [
      { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [] },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay },
    ];
    const body = { error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "Quota.", details } };
    expect(classifyFailure({ status: 429, body }).retryAfterMs).toBe(expected);
    expect(classifyFailure({ body: [body] }).retryAfterMs).toBe(expected);
    const headers = new Headers({ "retry-after": "2" });
    expect(classifyFailure({ status: 429, headers, body }).retryAfterMs).toBe(2_000);
  });
  test("is not known otherwise", () => {
    expect(retryAfter({ "retry-after": "soon" })).toBeNull();
  });
});

describe("what is thrown instead of an answer", () => {
  const failed = (fields: { readonly code?: string; readonly syscall?: string }, name = "Error"): Error =>
    Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error("low level"), fields, { name }) });

  test.each(["ECONNREFUSED", "ENOTFOUND", "UND_ERR_CONNECT_TIMEOUT", "DEPTH_ZERO_SELF_SIGNED_CERT"])(
    "%s means that nothing was sent",
    (code) => {
      expect(classifyFailure({ cause: failed({ code }) })).toMatchObject({ kind: "connection", outcome: "rejected" });
    },
  );
  test("a refusal of every address of a host means that nothing was sent", () => {
    const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    const cause = new TypeError("fetch failed", { cause: new AggregateError([refused, refused]) });
    expect(classifyFailure({ cause })).toMatchObject({ kind: "connection", outcome: "rejected" });
  });
  test("a port that fetch never asks means that nothing was sent", () => {
    const cause = new TypeError("fetch failed", { cause: new Error("bad port") });
    expect(classifyFailure({ cause })).toMatchObject({ kind: "connection", outcome: "rejected" });
  });
  test("a time limit while connecting means that nothing was sent", () => {
    const cause = failed({ code: "ETIMEDOUT", syscall: "connect" });
    expect(classifyFailure({ cause })).toMatchObject({ kind: "connection", outcome: "rejected" });
  });
  test.each(["ECONNRESET", "UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT"])(
    "%s leaves open what the server did",
    (code) => {
      expect(classifyFailure({ cause: failed({ code }) })).toMatchObject({ kind: "connection", outcome: "unknown" });
    },
  );
  test("a time limit of our own leaves open what the server did", () => {
    const cause = new DOMException("late", "TimeoutError");
    expect(classifyFailure({ cause })).toMatchObject({ kind: "connection", outcome: "unknown" });
  });
  test("an abort is an abort", () => {
    const cause = new DOMException("stop", "AbortError");
    expect(classifyFailure({ cause })).toMatchObject({ kind: "aborted", outcome: "unknown" });
  });
  test("what is no error at all is a connection that broke", () => {
    expect(classifyFailure({ cause: "?" })).toMatchObject({ kind: "connection", outcome: "unknown" });
  });
});
