import { type JsonObject, jsonOf, textOrEmpty } from "../../base/json.ts";
import { type FailureKind, ProviderError } from "../../engine/stack/provider.ts";
import { classifyFailure, type FailedAnswer } from "../failures/classify-error.ts";
import { plainJson } from "./plain-json.ts";

/** What a model threw, or said in its stream, in the words that providers share; `partial` is what had come. */
export function failureOf(error: unknown, partial: readonly JsonObject[] = []): ProviderError {
  if (error instanceof ProviderError) return error;
  const told = toldBy(error);
  const { message, ...failure } = classifyFailure(told);
  const own = ownKind(error);
  const kind = own?.kind ?? failure.kind;
  // A status of success is an answer that the SDK could not read: the model has answered.
  const isRead = told.status !== null && told.status < 400;
  const outcome = partial.length > 0 || isRead ? "unknown" : (own?.outcome ?? failure.outcome);
  return new ProviderError(own === null ? message : textOf(error), {
    ...{ ...failure, kind, outcome, partial, body: told.body ?? null, cause: error },
  });
}

/**
 * An `APICallError` has the answer of the server, or what kept one from coming; a stream tells an error as the server said it, as an
 * object or a text; of other errors there is only what they say.
 */
function toldBy(error: unknown): FailedAnswer & { readonly status: number | null } {
  const { statusCode, responseHeaders, responseBody } = membersOf(error);
  if (typeof statusCode !== "number") return { status: null, ...(isOfNetwork(error) ? {} : said(error)), cause: error };
  const headers = new Headers(Object.entries(membersOf(responseHeaders)).map(([name, value]) => [name, String(value)]));
  const text = textOrEmpty(responseBody);
  return { status: statusCode, headers, body: jsonOf(text) ?? text, cause: error };
}

/** What `fetch` throws has a cause; a mistake in the code of a model has none. */
const isOfNetwork = (error: unknown): boolean =>
  membersOf(error)["name"] === "AI_APICallError" || (error instanceof TypeError && error.cause !== undefined);

function said(error: unknown): Pick<FailedAnswer, "body"> {
  if (error instanceof Error) return { body: error.message };
  if (typeof error === "object" && error !== null) return { body: plainJson(error) };
  return { body: typeof error === "string" ? error : "the model failed" };
}

type OwnKind = { readonly kind: FailureKind; readonly outcome: "rejected" | "unknown" };

/** Errors that the SDK makes itself: before it sends anything, or of an answer that it cannot read. */
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
  // Read as unknown, member by member.
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
