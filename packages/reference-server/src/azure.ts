import { itemNotFound, type Refusal, refusal } from "./refusals.ts";
import { isObject, type Json, type JsonObject, objectsOf, stringOf } from "./wire.ts";

/** How Azure OpenAI differs (its documentation, and recorded answers). Requests go to `/openai/v1/responses`, or without `/openai`. */
export interface AzureOptions {
  /** Accepted keys and tokens, as `api-key` or as a bearer token. If omitted, any key but a missing one is accepted. */
  readonly keys?: readonly string[];
  /** A prompt that contains this text is blocked. */
  readonly blocks?: string;
  /** The names of deployments. If omitted, any name exists. */
  readonly deployments?: readonly string[];
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The path as on other servers, for the v1 API and for the earlier one, whose versions are dates. */
export function pathOf(azure: AzureOptions | undefined, { pathname, searchParams }: URL): string {
  if (azure === undefined) return pathname;
  const path = isDated(searchParams) ? pathname.replace(/^\/openai(?=\/responses(\/|$))/, "/v1") : pathname;
  return path.replace(/^\/openai(?=\/v1\/)/, "");
}

const isDated = (query: URLSearchParams): boolean => /^\d{4}-/.test(query.get("api-version") ?? "");

/** The v1 API rejects versions by date (as recorded). */
export function checkAzureVersion({ pathname, searchParams }: URL): Refusal | undefined {
  const isOfV1 = /^(\/openai)?\/v1\//.test(pathname);
  if (!isOfV1 || !isDated(searchParams)) return undefined;
  return { status: 400, body: { error: { code: "BadRequest", message: "API version not supported" } } };
}

/** Rejections before the body is read. */
export function checkAzureKey({ keys }: AzureOptions, headers: Headers): Refusal | undefined {
  const bearer = /^Bearer (.+)$/.exec(stringOf(headers["authorization"]) ?? "")?.[1];
  const key = stringOf(headers["api-key"]) ?? bearer;
  if (key !== undefined && (keys === undefined || keys.includes(key))) return undefined;
  const message =
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.";
  return { status: 401, body: { error: { code: "401", message } } };
}

/**
 * An unknown deployment is not found (as recorded). A request that is not stored cannot refer to item ids. A background request must be
 * stored (Azure's documentation; the text of its error is not recorded). A prompt that the filters block gets no answer.
 */
export function checkAzureInput({ blocks, deployments }: AzureOptions, body: JsonObject): Refusal | undefined {
  if (deployments?.includes(stringOf(body["model"]) ?? "") === false) return deploymentNotFound();
  if (body["background"] === true && body["store"] === false)
    return refusal("Background mode requires store=true.", { param: "background" });
  const input = objectsOf(body["input"]);
  const named =
    body["store"] === false ? input.map(({ id }) => stringOf(id)).find((id) => id !== undefined) : undefined;
  if (named !== undefined) return itemNotFound(named);
  return blocks !== undefined && JSON.stringify(body["input"] ?? "").includes(blocks) ? promptBlocked() : undefined;
}

function deploymentNotFound(): Refusal {
  const message =
    "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.";
  return { status: 404, body: { error: { code: "DeploymentNotFound", message } } };
}

/** Azure's text and body for a prompt that its filters block. */
function promptBlocked(): Refusal {
  const message =
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766";
  const refused = refusal(message, { code: "content_filter", param: "prompt" });
  const error = isObject(refused.body["error"]) ? refused.body["error"] : {};
  const violence = { filtered: true, severity: "medium" };
  const content_filter_result = { ...severities(), jailbreak: { filtered: false, detected: false }, violence };
  const innererror = { code: "ResponsibleAIPolicyViolation", content_filter_result };
  return { status: 400, body: { error: { ...error, type: null, status: 400, innererror } } };
}

/** The member of an answer, as recorded when nothing was found. */
export function contentFilters(): Json {
  const unseen = { detected: false, filtered: false };
  const filter = (source: string, results: JsonObject): JsonObject => ({
    blocked: false,
    content_filter_offsets: { check_offset: 0, end_offset: 5, start_offset: 0 },
    content_filter_raw: [],
    content_filter_results: { ...severities(), ...results },
    source_type: source,
  });
  return [
    filter("prompt", { jailbreak: unseen }),
    filter("completion", { protected_material_code: unseen, protected_material_text: unseen }),
  ];
}

const severities = (): JsonObject =>
  Object.fromEntries(
    ["hate", "self_harm", "sexual", "violence"].map((name) => [name, { filtered: false, severity: "safe" }]),
  );
