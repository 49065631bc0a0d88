import { azureResponses, openaiResponses } from "../../src/entries/responses.ts";
import type { Endpoint } from "./scenarios.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The endpoint that the environment names by a key (`TURNLOG_LIVE_KEY`), an address (`TURNLOG_LIVE_URL`, OpenAI's when absent) and
 * a model; null where there is no key, and in a CI: what costs money is asked only by who names it.
 */
export function liveEndpoint(environment: Environment): { readonly name: string; readonly endpoint: Endpoint } | null {
  const { TURNLOG_LIVE_KEY: apiKey = "", TURNLOG_LIVE_URL: url, CI = "" } = environment;
  if (apiKey === "" || CI !== "") return null;
  const { TURNLOG_LIVE_MODEL: model = "gpt-5.4-mini", TURNLOG_LIVE_AZURE: azure = "" } = environment;
  const isAzure = azure !== "" || url?.includes(".azure.com") === true;
  const endpoint: Endpoint = (options) =>
    isAzure
      ? azureResponses({ model, endpoint: url, apiKey, ...options })
      : openaiResponses({ model, baseURL: url, apiKey, ...options });
  return { name: url ?? "OpenAI", endpoint };
}
