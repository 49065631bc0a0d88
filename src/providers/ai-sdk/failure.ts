import { type JsonObject, jsonOf, textOrEmpty } from "../../base/json.ts";
import { type FailureKind, ProviderError } from "../../engine/ports/provider-error.ts";
import { classifyFailure, type FailedAnswer } from "../failures/classify-error.ts";
import { plainJson } from "./plain-json.ts";

/** The provider error for an error that a model threw or streamed; `partial` is the answer so far. */
export function failureOf(error: unknown, partial: readonly JsonObject[] = []): ProviderError {
  if (error instanceof ProviderError) return error;
  const told = toldBy(error);
  const { message, ...failure } = classifyFailure(told);
  const own = ownKind(error);
  const kind = own?.kind ?? failure.kind;
  // An error with a status of success is an answer that the SDK could not read: the model has answered.
  const isRead = told.status !== null && told.status < 400;
  const outcome = partial.length > 0 || isRead ? "unknown" : (own?.outcome ?? failure.outcome);
  return new ProviderError(own === null ? message : textOf(error), {
    ...{ ...failure, kind, outcome, partial, body: told.body ?? null, cause: error },
  });
}

/**
 * An `APICallError` has the server's answer, or the reason why none came. A stream has the error as the server sent it, an object or a
 * text. Other errors have only a message.
 */
function toldBy(error: unknown): FailedAnswer & { readonly status: number | null } {
  const { statusCode, responseHeaders, responseBody } = membersOf(error);
  if (typeof statusCode !== "number") return { status: null, ...(isOfNetwork(error) ? {} : said(error)), cause: error };
  const headers = new Headers(Object.entries(membersOf(responseHeaders)).map(([name, value]) => [name, String(value)]));
  const text = textOrEmpty(responseBody);
  return { status: statusCode, headers, body: jsonOf(text) ?? text, cause: error };
}

/** An error of `fetch` has a cause; a bug in a model's code has none. */
const isOfNetwork = (error: unknown): boolean =>
  membersOf(error)["name"] === "AI_APICallError" || (error instanceof TypeError && error.cause !== undefined);

function said(error: unknown): Pick<FailedAnswer, "body"> {
  if (error instanceof Error) return { body: error.message };
  if (typeof error === "object" && error !== null) return { body: plainJson(error) };
  return { body: typeof error === "string" ? error : "the model failed" };
}

type OwnKind = { readonly kind: FailureKind; readonly outcome: "rejected" | "unknown" };

/** Errors of the SDK itself: before it sends anything, or about an answer that it cannot read. */
function ownKind(error: unknown): OwnKind | null {
  const { name } = membersOf(error);
  return typeof name === "string" ? (kindByName.get(name) ?? null) : null;
}

const unsent = (kind: FailureKind): OwnKind => ({ kind, outcome: "rejected" });
const unread: OwnKind = { kind: "server-error", outcome: "unknown" };

const kindByName: ReadonlyMap<string, OwnKind> = new Map([
  ["AI_LoadAPIKeyError", unsent("authentication")],
  ["AI_LoadSettingError", unsent("invalid-request")],
  ["AI_NoSuchModelError", unsent("invalid-request")],
  ["AI_InvalidPromptError", unsent("invalid-request")],
  ["AI_InvalidArgumentError", unsent("invalid-request")],
  ["AI_UnsupportedFunctionalityError", unsent("invalid-request")],
  ["AI_InvalidResponseDataError", unread],
  ["AI_JSONParseError", unread],
  ["AI_TypeValidationError", unread],
  ["AI_EmptyResponseBodyError", unread],
  ["AI_NoContentGeneratedError", unread],
]);

const textOf = (error: unknown): string => (error instanceof Error ? error.message : "the model failed");

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  // The cast is safe: each member is read as unknown.
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
