import { anything, type OptionTable } from "../../base/options.ts";
import { secretValue } from "../secrets/secret-values.ts";
import type { KeySource, TextOrSecret } from "../settings/connection-options.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { fingerprint, type GeminiConnection } from "./gemini-options.ts";
import type { GoogleEndpoint } from "./gemini-provider.ts";

/** The key for Google's own API. */
export type GoogleKey = {
  /** `GEMINI_API_KEY`, else `GOOGLE_API_KEY`, by default. A function is called before every request; set `credentialsOwner` with it. */
  readonly apiKey?: TextOrSecret | KeySource | undefined;
};

export const keyOption: OptionTable<GoogleKey> = { apiKey: anything };

/**
 * Google's own API with a key.
 *
 * @throws {ProviderSettingsError} if there is no key.
 */
export function googleApi({
  apiKey: given = process.env["GEMINI_API_KEY"] || process.env["GOOGLE_API_KEY"] || "",
  baseURL = "https://generativelanguage.googleapis.com/v1beta",
  credentialsOwner,
  secrets = {},
}: GoogleKey & GeminiConnection): Pick<GoogleEndpoint, "baseURL" | "owner" | "header" | "key"> {
  const isAsked = typeof given === "function";
  if (isAsked && credentialsOwner === undefined)
    throw new ProviderSettingsError(
      "apiKey is a function, so keys change: give credentialsOwner, so that signatures stay valid with the next key",
    );
  const key = isAsked ? given : secretValue("apiKey", given, secrets);
  if (key === "") throw new ProviderSettingsError("there is no API key: set GEMINI_API_KEY, or give apiKey");
  return {
    ...{ baseURL, key },
    owner: credentialsOwner ?? (typeof key === "string" ? fingerprint(key) : ""),
    header: (apiKey) => ({ "x-goog-api-key": apiKey }),
  };
}
