import { checkGiven } from "../checked-settings.ts";
import type { ServerPlace } from "../endpoint.ts";
import type { KeySource, OpenaiResponses, OpenaiResponsesOptions, TextOrSecret } from "../openai-options.ts";
import { ProviderSettingsError } from "../settings-error.ts";
import { responsesProvider } from "./openai-responses.ts";

/** The options of `azureResponses`: those of `openaiResponses`, but for where the model is and who asks. */
export type AzureResponsesOptions = Omit<
  OpenaiResponsesOptions,
  "model" | "apiKey" | "baseURL" | "organization" | "project" | "instructions" | "prompt_cache_retention"
> & {
  /** The name of the deployment, which Azure takes in the place of a model's. */
  readonly model: string;
  /**
   * `https://RESOURCE.openai.azure.com`; `AZURE_OPENAI_ENDPOINT` when absent. `/openai/v1` is added to an address without a path;
   * one with a path, as gateways have, stays as it is, but for the `/responses` of the target that Azure's portal shows.
   */
  readonly endpoint?: string | undefined;
  /** A key of the resource, sent as `api-key`; `AZURE_OPENAI_API_KEY` when absent. */
  readonly apiKey?: TextOrSecret | undefined;
  /** Gives Entra tokens in the place of a key, as `getBearerTokenProvider` of `@azure/identity` does: asked before each request. */
  readonly token?: KeySource | undefined;
  /**
   * Goes with every request as the query `api-version`. The v1 API wants none, or `preview`. One that is a date
   * (`2025-04-01-preview`) is of the API before v1: requests then go to `/openai/responses`.
   */
  readonly apiVersion?: string | undefined;
  /** A text, or messages. */
  readonly instructions?: OpenaiResponsesOptions["instructions"] | readonly object[];
  /** How long what the beginning of a prompt was read as is kept: `in-memory` some minutes, where the model has that. */
  readonly prompt_cache_retention?: OpenaiResponsesOptions["prompt_cache_retention"] | "in-memory";
};

/**
 * A deployment of Azure OpenAI, by its v1 Responses API. What was answered there belongs to the resource: another key of it, or a
 * token, goes on with the same chains.
 *
 * @throws {ProviderSettingsError} when there is no endpoint, neither key nor token, or a setting that cannot be sent.
 */
export function azureResponses(options: AzureResponsesOptions): OpenaiResponses {
  const where = "azureResponses";
  checkGiven(where, options);
  const { endpoint, apiKey, token, apiVersion, credentialsOwner = "resource", ...others } = options;
  for (const [name, instead] of otherNames) {
    if (Object.hasOwn(options, name)) throw refused(`no option '${name}': give ${instead}`);
  }
  if (options.background === true && options.store === false)
    throw refused("background with store: false: Azure makes a response in the background only where it is stored");
  // OpenAI's types lack what Azure takes in two settings: all settings are checked by their names, and sent as they stand.
  const rest = others as OpenaiResponsesOptions;
  const baseURL = addressOf(endpoint ?? process.env["AZURE_OPENAI_ENDPOINT"] ?? "", apiVersion);
  // A socket of Azure answers one request after another (Azure's how-to on WebSockets).
  const capabilities = { lanes: false, ...options.capabilities };
  const common = { ...rest, baseURL, credentialsOwner, capabilities };
  if (token !== undefined && apiKey !== undefined) throw refused("both an apiKey and a token: give one of them");
  if (token !== undefined)
    return responsesProvider({ ...common, apiKey: token }, { where, keyHeader: "authorization", place });
  const key = apiKey ?? process.env["AZURE_OPENAI_API_KEY"] ?? "";
  if (key === "") throw refused("no key: set AZURE_OPENAI_API_KEY, or give apiKey, or token for Entra");
  return responsesProvider({ ...common, apiKey: key }, { where, keyHeader: "api-key", place });
}

/** A resource has neither organization nor project: the variables that name OpenAI's go nowhere else. */
const place: ServerPlace = {
  ...{ baseURL: "", keyVariable: "AZURE_OPENAI_API_KEY", addressVariable: null, needsKey: true },
};

const refused = (what: string): ProviderSettingsError => new ProviderSettingsError(`azureResponses has ${what}`);

/** What others call it. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ["baseURL", "the address as endpoint"],
  ["deployment", "the deployment's name as model"],
  ["resource", "endpoint, as https://RESOURCE.openai.azure.com"],
  ["organization", "nothing in its place: Azure has none"],
  ["project", "nothing in its place: Azure has none"],
]);

function addressOf(endpoint: string, apiVersion: string | undefined): string {
  if (endpoint === "") {
    throw refused("no endpoint: set AZURE_OPENAI_ENDPOINT, or give endpoint, as https://RESOURCE.openai.azure.com");
  }
  // What is no address is refused with all others.
  if (!URL.canParse(endpoint)) return endpoint;
  const url = new URL(endpoint);
  if (url.pathname.startsWith("/openai/deployments/"))
    throw refused(
      "a deployment in its endpoint: give https://RESOURCE.openai.azure.com, and the deployment's name as model",
    );
  if (apiVersion !== undefined) url.searchParams.set("api-version", apiVersion);
  url.pathname = url.pathname.replace(/^(\/openai(?:\/v1)?)\/responses\/?$/, "$1");
  const isDated = /^\d{4}-\d{2}-\d{2}/.test(url.searchParams.get("api-version") ?? "");
  if (/^\/(openai\/?)?$/.test(url.pathname)) url.pathname = isDated ? "/openai" : "/openai/v1";
  return url.href;
}
