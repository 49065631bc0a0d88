import type { OptionNames } from "../../base/options.ts";
import type { Provider } from "../../engine/stack/provider.ts";
import type { KeySource, TextOrSecret } from "../openai-options.ts";
import { secretValue } from "../secrets.ts";
import { ProviderSettingsError } from "../settings-error.ts";
import { fingerprint, type GeminiConnection, type GeminiSettings } from "./gemini-options.ts";
import { geminiProvider } from "./gemini-provider.ts";

/** The options of `googleGemini`: where the model is, and the settings of its requests. */
export type GoogleGeminiOptions = GeminiSettings &
  GeminiConnection & {
    /** `GEMINI_API_KEY`, else `GOOGLE_API_KEY`, when absent. A function is asked before every request; give `credentialsOwner` with one. */
    readonly apiKey?: TextOrSecret | KeySource | undefined;
  };

const ownOptions: OptionNames<Pick<GoogleGeminiOptions, "apiKey">> = { apiKey: true };

/**
 * A model of Google's, asked by `generateContent` with an API key. The requests are sent byte for byte as they are recorded; nothing
 * is sent again but by the engine.
 *
 * @throws {ProviderSettingsError} when there is no API key, or a setting cannot be sent.
 */
export function googleGemini(options: GoogleGeminiOptions): Provider {
  const { apiKey: given = process.env["GEMINI_API_KEY"] || process.env["GOOGLE_API_KEY"] || "", secrets = {} } =
    options;
  const isAsked = typeof given === "function";
  if (isAsked && options.credentialsOwner === undefined)
    throw new ProviderSettingsError(
      "apiKey is a function, whose keys change: give credentialsOwner, so that signatures outlast a key",
    );
  const key = isAsked ? given : secretValue("apiKey", given, secrets);
  if (key === "") throw new ProviderSettingsError("there is no API key: set GEMINI_API_KEY, or give apiKey");
  return geminiProvider(options, {
    ...{ where: "googleGemini", name: "google-gemini", key, options: ownOptions },
    baseURL: options.baseURL ?? "https://generativelanguage.googleapis.com/v1beta",
    path: ({ model, method }) => `/models/${encodeURIComponent(model.replace(/^models\//, ""))}:${method}`,
    owner: options.credentialsOwner ?? (typeof key === "string" ? fingerprint(key) : ""),
    header: (apiKey) => ({ "x-goog-api-key": apiKey }),
  });
}
