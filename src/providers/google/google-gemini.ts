import type { Provider } from "../../engine/stack/provider.ts";
import { checkGiven } from "../settings/checked-settings.ts";
import type { GeminiConnection, GeminiSettings } from "./gemini-options.ts";
import { geminiProvider } from "./gemini-provider.ts";
import { type GoogleKey, googleApi, keyOption } from "./google-api.ts";

/** The options of `googleGemini`: where the model is, and the settings of its requests. */
export type GoogleGeminiOptions = GeminiSettings & GeminiConnection & GoogleKey;

/**
 * A model of Google's, asked by `generateContent` with an API key. The requests are sent byte for byte as they are recorded; nothing
 * is sent again but by the engine.
 *
 * @throws {ProviderSettingsError} when there is no API key, or a setting cannot be sent.
 */
export function googleGemini(options: GoogleGeminiOptions): Provider {
  checkGiven("googleGemini", options);
  return geminiProvider(options, {
    ...{ where: "googleGemini", name: "google-gemini", options: keyOption, ...googleApi(options) },
    path: ({ model, method }) => `/models/${encodeURIComponent(model.replace(/^models\//, ""))}:${method}`,
  });
}
