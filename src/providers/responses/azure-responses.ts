import { type AzureConnection, azurePlace, azureServer, checkAzureNames } from "../http/azure-endpoint.ts";
import { checkGiven } from "../settings/checked-settings.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { responsesProvider } from "./openai-responses.ts";
import type { OpenaiResponses, OpenaiResponsesOptions } from "./responses-options.ts";

/** The options of `azureResponses`: those of `openaiResponses`, with Azure's own for address and credentials. */
export type AzureResponsesOptions = Omit<
  OpenaiResponsesOptions,
  "model" | "apiKey" | "baseURL" | "organization" | "project" | "instructions" | "prompt_cache_retention"
> &
  Omit<AzureConnection, "apiVersion"> & {
    /** The name of the deployment, which Azure takes in place of a model name. */
    readonly model: string;
    /**
     * Sent with every request as the query `api-version`. The v1 API accepts none, or `preview`. A date (`2025-04-01-preview`) selects the
     * API before v1: requests then go to `/openai/responses`.
     */
    readonly apiVersion?: string | undefined;
    /** A text, or messages. */
    readonly instructions?: OpenaiResponsesOptions["instructions"] | readonly object[];
    /** How long the prompt cache keeps a prefix: `in-memory` for some minutes, if the model supports it. */
    readonly prompt_cache_retention?: OpenaiResponsesOptions["prompt_cache_retention"] | "in-memory";
  };

/**
 * A deployment of Azure OpenAI, through its v1 Responses API. Its stored responses belong to the resource: another key of the resource, or
 * a token, continues the same chains.
 *
 * @throws {ProviderSettingsError} if there is no endpoint, neither key nor token, or a setting that cannot be sent.
 */
export function azureResponses(options: AzureResponsesOptions): OpenaiResponses {
  const where = "azureResponses";
  checkGiven(where, options);
  const { endpoint, apiKey, token, apiVersion, credentialsOwner = "resource", ...others } = options;
  checkAzureNames(where, options);
  if (options.background === true && options.store === false)
    throw new ProviderSettingsError(
      `${where} has background with store: false, but Azure makes background responses only if they are stored: leave one of the two out`,
    );
  // The cast is safe: OpenAI's types lack what Azure accepts in two settings, but all settings are checked by name and sent unchanged.
  const rest = others as OpenaiResponsesOptions;
  const { keyHeader, ...asWhom } = azurePlace(where, { endpoint, apiKey, token, apiVersion });
  // A socket of Azure answers one request at a time (Azure's how-to on WebSockets).
  const capabilities = { lanes: false, ...options.capabilities };
  return responsesProvider(
    { ...rest, ...asWhom, credentialsOwner, capabilities },
    { where, keyHeader, place: azureServer },
  );
}
