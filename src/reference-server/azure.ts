import { itemNotFound, type Refusal, refusal } from "./refusals.ts";
import { isObject, type Json, type JsonObject, objectsOf, stringOf } from "./wire.ts";

/** How Azure OpenAI differs (its documentation, and answers that were seen). Requests come to `/openai/v1/responses`, or without `/openai`. */
export interface AzureOptions {
  /** Keys and tokens that are taken, as `api-key` or as a bearer; any when left out, and none is refused. */
  readonly keys?: readonly string[];
  /** A prompt with this text in it is blocked. */
  readonly blocks?: string;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The path as other servers have it. */
export const pathOf = (azure: AzureOptions | undefined, pathname: string): string =>
  azure === undefined ? pathname : pathname.replace(/^\/openai(?=\/v1\/)/, "");

/** What is refused before anything of the body is looked at. */
export function checkAzureKey({ keys }: AzureOptions, headers: Headers): Refusal | undefined {
  const bearer = /^Bearer (.+)$/.exec(stringOf(headers["authorization"]) ?? "")?.[1];
  const key = stringOf(headers["api-key"]) ?? bearer;
  if (key !== undefined && (keys === undefined || keys.includes(key))) return undefined;
  const message =
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.";
  return { status: 401, body: { error: { code: "401", message } } };
}

/** Ids of items are nothing to a request that is not stored, and what the filters block is not answered. */
export function checkAzureInput({ blocks }: AzureOptions, body: JsonObject): Refusal | undefined {
  const input = objectsOf(body["input"]);
  const named =
    body["store"] === false ? input.map(({ id }) => stringOf(id)).find((id) => id !== undefined) : undefined;
  if (named !== undefined) return itemNotFound(named);
  return blocks !== undefined && JSON.stringify(body["input"] ?? "").includes(blocks) ? promptBlocked() : undefined;
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
