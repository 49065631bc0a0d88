import { type AzureConnection, azurePlace, azureServer, checkAzureNames } from "../http/azure-endpoint.ts";
import { checkGiven } from "../settings/checked-settings.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { responsesProvider } from "./openai-responses.ts";
import type { OpenaiResponses, OpenaiResponsesOptions } from "./responses-options.ts";

/** The options of `azureResponses`: those of `openaiResponses`, but for where the model is and who asks. */
export type AzureResponsesOptions = Omit<
  OpenaiResponsesOptions,
  "model" | "apiKey" | "baseURL" | "organization" | "project" | "instructions" | "prompt_cache_retention"
> &
  Omit<AzureConnection, "apiVersion"> & {
    /** The name of the deployment, which Azure takes in the place of a model's. */
    readonly model: string;
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
  checkAzureNames(where, options);
  if (options.background === true && options.store === false)
    throw new ProviderSettingsError(
      `${where} has background with store: false: Azure makes a response in the background only where it is stored`,
    );
  // OpenAI's types lack what Azure takes in two settings: all settings are checked by their names, and sent as they stand.
  const rest = others as OpenaiResponsesOptions;
  const { keyHeader, ...asWhom } = azurePlace(where, { endpoint, apiKey, token, apiVersion });
  // A socket of Azure answers one request after another (Azure's how-to on WebSockets).
  const capabilities = { lanes: false, ...options.capabilities };
  return responsesProvider(
    { ...rest, ...asWhom, credentialsOwner, capabilities },
    { where, keyHeader, place: azureServer },
  );
}
