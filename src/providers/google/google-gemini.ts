import type { Provider } from "../../engine/ports/provider.ts";
import { checkGiven } from "../settings/checked-settings.ts";
import type { GeminiConnection, GeminiSettings } from "./gemini-options.ts";
import { geminiProvider } from "./gemini-provider.ts";
import { type GoogleKey, googleApi, keyOption } from "./google-api.ts";

/** The options of `googleGemini`: the endpoint of the model, and the settings of its requests. */
export type GoogleGeminiOptions = GeminiSettings & GeminiConnection & GoogleKey;

/**
 * A Google model through `generateContent`, with an API key. Requests are sent byte for byte as they are recorded, and only the engine
 * repeats them.
 *
 * @throws {ProviderSettingsError} if there is no API key, or a setting cannot be sent.
 */
export function googleGemini(options: GoogleGeminiOptions): Provider {
  checkGiven("googleGemini", options);
  return geminiProvider(options, {
    ...{ where: "googleGemini", name: "google-gemini", options: keyOption, ...googleApi(options) },
    path: ({ model, method }) => `/models/${encodeURIComponent(model.replace(/^models\//, ""))}:${method}`,
  });
}
