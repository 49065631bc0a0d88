import type { KeySource, TextOrSecret } from "../settings/connection-options.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import type { KeyHeader, ServerPlace } from "./endpoint.ts";

/** The address of an Azure OpenAI resource, and its credentials. */
export type AzureConnection = {
  /**
   * `https://RESOURCE.openai.azure.com`; `AZURE_OPENAI_ENDPOINT` by default. `/openai/v1` is added to an address without a path. An address
   * with a path, as gateways have, is used as it is, without the end of the target that Azure's portal shows (`/responses`,
   * `/chat/completions`).
   */
  readonly endpoint?: string | undefined;
  /** A key of the resource, sent as `api-key`; `AZURE_OPENAI_API_KEY` by default. */
  readonly apiKey?: TextOrSecret | undefined;
  /** Returns Entra tokens in place of a key, as `getBearerTokenProvider` of `@azure/identity` does: called before each request. */
  readonly token?: KeySource | undefined;
  /** Sent with every request as the query `api-version`. The v1 API accepts none, or `preview`. */
  readonly apiVersion?: string | undefined;
};

/** Reads the options and the variables `AZURE_…`, and no variable of OpenAI's. */
export const azureServer: ServerPlace = {
  ...{ baseURL: "", keyVariable: "AZURE_OPENAI_API_KEY", addressVariable: null, needsKey: true },
};

/** The same, as options of an OpenAI endpoint. */
type AzurePlace = {
  readonly baseURL: string;
  readonly apiKey: TextOrSecret | KeySource;
  readonly keyHeader: KeyHeader;
};

/**
 * The address and the credentials of a provider for Azure.
 *
 * @param where - The function that the caller called.
 * @throws {ProviderSettingsError} if there is no endpoint, and if there is neither key nor token, or both.
 */
export function azurePlace(where: string, { endpoint, apiKey, token, apiVersion }: AzureConnection): AzurePlace {
  const refused = (what: string): ProviderSettingsError => new ProviderSettingsError(`${where} has ${what}`);
  const given = endpoint ?? process.env["AZURE_OPENAI_ENDPOINT"] ?? "";
  if (given === "")
    throw refused("no endpoint: set AZURE_OPENAI_ENDPOINT, or give endpoint, as https://RESOURCE.openai.azure.com");
  if (URL.canParse(given) && new URL(given).pathname.startsWith("/openai/deployments/"))
    throw refused(
      "a deployment in its endpoint: give https://RESOURCE.openai.azure.com, and the deployment's name as model",
    );
  const baseURL = addressOf(given, apiVersion);
  if (token !== undefined && apiKey !== undefined) throw refused("both an apiKey and a token: give only one of them");
  if (token !== undefined) return { baseURL, apiKey: token, keyHeader: "authorization" };
  const key = apiKey ?? process.env["AZURE_OPENAI_API_KEY"] ?? "";
  if (key === "") throw refused("no key: set AZURE_OPENAI_API_KEY, or give apiKey, or token for Entra");
  return { baseURL, apiKey: key, keyHeader: "api-key" };
}

/**
 * Checks that no option has the name that other clients use for Azure's.
 *
 * @throws {ProviderSettingsError} if one has.
 */
export function checkAzureNames(where: string, options: object): void {
  for (const [name, instead] of otherNames)
    if (Object.hasOwn(options, name))
      throw new ProviderSettingsError(`${where} has no option '${name}': give ${instead}`);
}

/** The names in other clients. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ["baseURL", "the address as endpoint"],
  ["deployment", "the deployment's name as model"],
  ["resource", "endpoint, as https://RESOURCE.openai.azure.com"],
  ["organization", "nothing in its place: Azure has none"],
  ["project", "nothing in its place: Azure has none"],
]);

/** Whether a version belongs to the API before v1. */
export const isDated = (apiVersion: string): boolean => /^\d{4}-\d{2}-\d{2}/.test(apiVersion);

function addressOf(endpoint: string, apiVersion: string | undefined): string {
  // The check of all addresses rejects an invalid one.
  if (!URL.canParse(endpoint)) return endpoint;
  const url = new URL(endpoint);
  if (apiVersion !== undefined) url.searchParams.set("api-version", apiVersion);
  url.pathname = url.pathname.replace(/^(\/openai(?:\/v1)?)\/(?:responses|chat\/completions)\/?$/, "$1");
  const isOld = isDated(url.searchParams.get("api-version") ?? "");
  if (/^\/(openai\/?)?$/.test(url.pathname)) url.pathname = isOld ? "/openai" : "/openai/v1";
  return url.href;
}
