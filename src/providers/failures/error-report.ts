import { isJsonList, isJsonObject, type JsonObject, type JsonValue, jsonOf, objectsOf } from "../../base/json.ts";

/** What a failed answer says, in any of the known shapes of its body (OpenAI's guide to error codes, and answers that were seen). */
export type ErrorReport = {
  readonly status: number | null;
  readonly code: string | null;
  readonly type: string | null;
  readonly param: string | null;
  readonly message: string | null;
  /** The delay that Google's `RetryInfo` asks for. */
  readonly retryAfterMs: number | null;
};

/**
 * Reads an error body: the `{error: {…}}` envelope, its flat form in event streams, `response.failed`, a failed response, `{error:
 * "text"}`, `[{error: {…}}]`, `{detail: …}`, `{message: …}`, plain text, HTML, or nothing. It ignores the content type, because servers set
 * it wrongly.
 */
export function readErrorBody(body: JsonValue | undefined): ErrorReport {
  const told = typeof body === "string" ? (jsonOf(body) ?? body) : body;
  // Google's streams send an error as a list of one.
  const value = isJsonList(told) && told.length === 1 ? told[0] : told;
  if (!isJsonObject(value)) return { ...nothing, message: typeof value === "string" ? plainText(value) : null };
  const outer = isJsonObject(value["response"]) ? value["response"] : value;
  const inner = isJsonObject(outer["error"]) ? outer["error"] : (firstIn(outer["errors"]) ?? outer);
  return {
    status: typeof value["status"] === "number" ? value["status"] : statusOf(inner["code"] ?? outer["code"]),
    code: text(inner["code"]) ?? text(outer["code"]),
    // Google's APIs put there what others call the type.
    type: text(inner["type"]) ?? text(inner["status"]),
    param: text(inner["param"]),
    message: text(inner["message"]) ?? text(outer["error"]) ?? detail(outer["detail"]) ?? text(outer["message"]),
    retryAfterMs: retryInfo(inner["details"]),
  };
}

/** A failed interaction of Google's has a list of errors. */
const firstIn = (errors: JsonValue | undefined): JsonObject | undefined =>
  isJsonList(errors) ? errors.find(isJsonObject) : undefined;

const nothing: ErrorReport = { status: null, code: null, type: null, param: null, message: null, retryAfterMs: null };

/** Google's APIs, OpenRouter and vLLM repeat the HTTP status as the code, also in a stream and under 200. */
function statusOf(code: JsonValue | undefined): number | null {
  const status = typeof code === "string" && /^\d{3}$/.test(code) ? Number(code) : code;
  return typeof status === "number" && Number.isInteger(status) && status >= 400 && status < 600 ? status : null;
}

/** `{"@type": "…google.rpc.RetryInfo", "retryDelay": "34.07s"}` among the details. */
function retryInfo(details: JsonValue | undefined): number | null {
  for (const { "@type": type, retryDelay } of objectsOf(details)) {
    const isInfo = typeof type === "string" && type.endsWith("google.rpc.RetryInfo");
    const [, seconds] = (isInfo && typeof retryDelay === "string" && /^(\d+(?:\.\d+)?)s$/.exec(retryDelay)) || [];
    if (seconds !== undefined) return Math.round(Number(seconds) * 1000);
  }
  return null;
}

/** FastAPI's `detail`: a text, an object, or a list of the request's errors. */
function detail(value: JsonValue | undefined): string | null {
  const first = isJsonList(value) ? value[0] : value;
  if (isJsonObject(first)) return text(first["msg"]) ?? text(first["message"]) ?? JSON.stringify(first);
  return text(first);
}

function plainText(body: string): string | null {
  if (!body.trimStart().startsWith("<")) return text(body.trim().slice(0, 500));
  const title = /<title>([^<]{1,200})<\/title>/i.exec(body)?.[1]?.trim();
  return title === undefined ? htmlPage : `${htmlPage}: ${title}`;
}

const htmlPage = "the body is an HTML page";

/** Whether the message is just an HTML page. */
export const isHtmlPage = (message: string): boolean => message.startsWith(htmlPage);

const text = (value: JsonObject[string]): string | null => (typeof value === "string" && value !== "" ? value : null);
