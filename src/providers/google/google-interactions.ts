import type { JsonObject } from "../../base/json.ts";
import { allOf, anything, type OptionTable, required } from "../../base/options.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import { readAnswer } from "../http/read-answer.ts";
import { checkedSettings, type OptionWords } from "../settings/checked-settings.ts";
import type { TextOrSecret } from "../settings/connection-options.ts";
import { instructions, modelLike } from "../settings/option-checks.ts";
import { type GeminiConnection, geminiConnection } from "./gemini-options.ts";
import { googleProvider } from "./gemini-provider.ts";
import { type GoogleKey, googleApi, keyOption } from "./google-api.ts";
import { interactionForm } from "./interaction-answer.ts";
import { InteractionStream } from "./interaction-stream.ts";
import { interactionsCodec } from "./interactions-codec.ts";

/** The settings of interactions, in Google's names. Recorded with the requests; any text may be `secret("NAME")`. */
export type InteractionSettings = {
  readonly model: string;
  /** Sent as `system_instruction`. System blocks at the beginning of the Turn are added to it. */
  readonly instructions?: TextOrSecret | undefined;
  /**
   * Google stores the interactions, and a request continues from the one that holds a prefix of the Turn. By default, and if false, Google
   * stores nothing, and every request sends the whole Turn.
   */
  readonly store?: boolean | undefined;
  /** Google's own tools, such as `{ type: "google_search" }`; the engine adds its tools to them. */
  readonly tools?: readonly JsonObject[] | undefined;
  readonly generation_config?: JsonObject | undefined;
  readonly response_format?: JsonObject | readonly JsonObject[] | undefined;
  readonly safety_settings?: readonly JsonObject[] | undefined;
  readonly labels?: JsonObject | undefined;
  readonly service_tier?: string | undefined;
  /** Further members of the request body. */
  readonly extraBody?: JsonObject | undefined;
};

/** The options of `googleInteractions`: the endpoint of the model, and the settings of its requests. */
export type GoogleInteractionsOptions = InteractionSettings & GeminiConnection & GoogleKey;

/**
 * A Google model through the Interactions API, with an API key.
 *
 * @throws {ProviderSettingsError} if there is no API key, or a setting cannot be sent.
 */
export function googleInteractions(options: GoogleInteractionsOptions): Provider {
  const where = "googleInteractions";
  const settings = { store: false, ...checkedSettings(options, words) };
  return googleProvider(
    options,
    { ...{ where, name: "google-interactions", options: keyOption }, ...googleApi(options) },
    {
      ...{ codec: interactionsCodec, settings },
      // It is not documented whether a streamed answer says what it continues from.
      capabilities: { chain: options.store === true, echo: "none" },
      path: () => "/interactions",
      wrap: (bodyText) => bodyText,
      read: (answer, reading) =>
        readAnswer(answer, {
          ...{ ...reading, form: interactionForm },
          stream: new InteractionStream(reading.onDelta, reading.limits.itemBytes),
        }),
    },
  );
}

const settings: OptionTable<InteractionSettings> = {
  ...{ model: required(modelLike("gemini-3-flash-preview")), instructions },
  ...allOf(anything, "store", "tools", "generation_config", "response_format", "safety_settings", "labels"),
  ...allOf(anything, "service_tier", "extraBody"),
};

const words: OptionWords = {
  ...{ provider: "googleInteractions", settings, connection: { ...geminiConnection, ...keyOption } },
  decided: new Set(["input", "stream"]),
  refusals: new Map([
    ["previous_interaction_id", "with store: true the engine decides what to continue from"],
    ["system_instruction", "give it as instructions"],
    ["background", "turnlog would not fetch the interaction"],
    ["agent", "give a model"],
    ["cached_content", "it adds content that turnlog does not see"],
    ["continuation_token", "it continues content that turnlog does not see"],
  ]),
  members: {
    generation_config: [
      ...["temperature", "top_p", "max_output_tokens", "stop_sequences", "seed", "thinking_level"],
      ...["thinking_summaries", "tool_choice", "speech_config", "image_config"],
    ],
  },
  otherNames: new Map([
    ...["max_tokens", "maxTokens"].map((name) => [name, "max_output_tokens"] as const),
    ...["reasoning_effort", "reasoningEffort", "thinking"].map((name) => [name, "thinking_level"] as const),
    ...["system", "systemInstruction"].map((name) => [name, "instructions"] as const),
    ["stop", "stop_sequences"],
  ]),
};
