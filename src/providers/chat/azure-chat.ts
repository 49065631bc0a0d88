import type { Provider } from "../../engine/ports/provider.ts";
import { type AzureConnection, azurePlace, azureServer, checkAzureNames, isDated } from "../http/azure-endpoint.ts";
import { checkGiven } from "../settings/checked-settings.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { chatProvider } from "./chat-completions.ts";
import type { ChatCompletionsOptions } from "./chat-options.ts";

/** The options of `azureChat`: those of `chatCompletions`, with Azure's own for address and credentials. */
export type AzureChatOptions = Omit<ChatCompletionsOptions, "model" | "apiKey" | "baseURL" | "dialect"> &
  AzureConnection & {
    /** The name of the deployment, which Azure takes in place of a model name. */
    readonly model: string;
  };

/**
 * A deployment of Azure OpenAI, through the Chat Completions of its v1 API, for models without the Responses API there. Every request sends
 * the whole Turn.
 *
 * @throws {ProviderSettingsError} if there is no endpoint, neither key nor token, or a setting that cannot be sent.
 */
export function azureChat(options: AzureChatOptions): Provider {
  const where = "azureChat";
  checkGiven(where, options);
  checkAzureNames(where, options);
  const { endpoint, apiKey, token, apiVersion, credentialsOwner = "resource", ...others } = options;
  if (Object.hasOwn(options, "dialect"))
    throw new ProviderSettingsError(`${where} has no option 'dialect', because Azure uses OpenAI's: leave it out`);
  if (apiVersion !== undefined && isDated(apiVersion))
    throw new ProviderSettingsError(
      `${where} has the apiVersion '${apiVersion}', which is older than v1: leave it out, or give 'preview'`,
    );
  const { keyHeader, ...asWhom } = azurePlace(where, { endpoint, apiKey, token, apiVersion });
  return chatProvider(
    { ...others, ...asWhom, credentialsOwner },
    { where, name: "azure-chat", place: azureServer, keyHeader },
  );
}
