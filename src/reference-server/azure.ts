import { itemNotFound, type Refusal, refusal } from "./refusals.ts";
import { isObject, type Json, type JsonObject, objectsOf, stringOf } from "./wire.ts";

/** How Azure OpenAI differs (its documentation, and answers that were seen). Requests come to `/openai/v1/responses`, or without `/openai`. */
export interface AzureOptions {
  /** Keys and tokens that are taken, as `api-key` or as a bearer; any when left out, and none is refused. */
  readonly keys?: readonly string[];
  /** A prompt with this text in it is blocked. */
  readonly blocks?: string;
  /** What is deployed; left out, any name is. */
  readonly deployments?: readonly string[];
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The path as other servers have it: of the v1 API, and of the one before it, whose versions are dates. */
export function pathOf(azure: AzureOptions | undefined, { pathname, searchParams }: URL): string {
  if (azure === undefined) return pathname;
  const path = isDated(searchParams) ? pathname.replace(/^\/openai(?=\/responses(\/|$))/, "/v1") : pathname;
  return path.replace(/^\/openai(?=\/v1\/)/, "");
}

const isDated = (query: URLSearchParams): boolean => /^\d{4}-/.test(query.get("api-version") ?? "");

/** The v1 API has no versions by date (as seen). */
export function checkAzureVersion({ pathname, searchParams }: URL): Refusal | undefined {
  const isOfV1 = /^(\/openai)?\/v1\//.test(pathname);
  if (!isOfV1 || !isDated(searchParams)) return undefined;
  return { status: 400, body: { error: { code: "BadRequest", message: "API version not supported" } } };
}

/** What is refused before anything of the body is looked at. */
export function checkAzureKey({ keys }: AzureOptions, headers: Headers): Refusal | undefined {
  const bearer = /^Bearer (.+)$/.exec(stringOf(headers["authorization"]) ?? "")?.[1];
  const key = stringOf(headers["api-key"]) ?? bearer;
  if (key !== undefined && (keys === undefined || keys.includes(key))) return undefined;
  const message =
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.";
  return { status: 401, body: { error: { code: "401", message } } };
}

/**
 * What is not deployed is not found (as seen). Ids of items are nothing to a request that is not stored, what is made in the
 * background has to be (Azure's documentation; its words for it are not recorded), and what the filters block is not answered.
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

/** Azure's words and body for a prompt that its filters block. */
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

/** The member of an answer, as recorded: nothing was found. */
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
