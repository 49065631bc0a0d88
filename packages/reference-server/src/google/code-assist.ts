import type { ReceivedRequest } from "../options.ts";
import type { Refusal } from "../refusals.ts";
import { isObject, type JsonObject, stringOf } from "../wire.ts";
import { badBody, unauthenticated, unknownName } from "./refusals.ts";

/** The path of Code Assist (gemini-cli, Apache-2.0): the method follows the version, and the model is in the body. */
export const codeAssistAddress = /\/v1internal:((?:g|streamG)enerateContent)$/;

const fields = new Set(["model", "project", "user_prompt_id", "request"]);

/** Unwraps the `generateContent` request in a request of Code Assist, which is authorized by an account's OAuth token. */
export function unwrapRequest(
  body: JsonObject,
  headers: ReceivedRequest["headers"],
  takesToken: (token: string) => boolean = () => true,
): { readonly model: string; readonly inner: JsonObject } | { readonly refusal: Refusal } {
  const [, token] = /^Bearer (.+)$/.exec(String(headers["authorization"] ?? "")) ?? [];
  if (token === undefined || !takesToken(token)) return { refusal: unauthenticated() };
  const unknown = Object.keys(body).find((name) => !fields.has(name));
  if (unknown !== undefined) return { refusal: unknownName(unknown) };
  const { request } = body;
  if (!isObject(request)) return { refusal: badBody() };
  const { session_id: _, ...inner } = request;
  return { model: stringOf(body["model"]) ?? "", inner };
}

/** Wraps a response, or a chunk of one, as Code Assist does; errors are not wrapped. */
export const wrapResponse = (response: JsonObject): JsonObject =>
  response["error"] === undefined ? { response, traceId: "reference" } : response;
