import type { JsonObject } from "../../base/json.ts";
import type { OptionNames } from "../../base/options.ts";
import type { Provider } from "../../engine/stack/provider.ts";
import { events } from "../openai-http.ts";
import type { TextOrSecret } from "../openai-options.ts";
import { readAnswer } from "../read-answer.ts";
import { type GeminiConnection, type SettingsForm, settingsOf } from "./gemini-options.ts";
import { googleProvider } from "./gemini-provider.ts";
import { type GoogleKey, googleApi, keyOption } from "./google-api.ts";
import { interactionForm } from "./interaction-answer.ts";
import { interactionSteps } from "./interaction-codec.ts";
import { bodySettings } from "./interaction-settings.ts";
import { InteractionStream } from "./interaction-stream.ts";

/** How a model is asked by interactions, in Google's names. Recorded with the requests; any text may be `secret("NAME")`. */
export type InteractionSettings = {
  readonly model: string;
  /** Sent as `system_instruction`. System blocks at the beginning of the Turn are added to it. */
  readonly instructions?: TextOrSecret | undefined;
  /**
   * Google keeps the interactions, and a request continues from the one that is a beginning of the Turn. Absent, and with false, Google
   * keeps nothing, and every request holds the whole Turn.
   */
  readonly store?: boolean | undefined;
  /** Google's own tools, such as `{ type: "google_search" }`; the engine adds its tools to them. */
  readonly tools?: readonly JsonObject[] | undefined;
  readonly generation_config?: JsonObject | undefined;
  readonly response_format?: JsonObject | readonly JsonObject[] | undefined;
  readonly safety_settings?: readonly JsonObject[] | undefined;
  readonly labels?: JsonObject | undefined;
  readonly service_tier?: string | undefined;
  /** Further members of the request's body. */
  readonly extraBody?: JsonObject | undefined;
};

/** The options of `googleInteractions`: where the model is, and the settings of its requests. */
export type GoogleInteractionsOptions = InteractionSettings & GeminiConnection & GoogleKey;

/**
 * A model of Google's, asked by the Interactions API with an API key.
 *
 * @throws {ProviderSettingsError} when there is no API key, or a setting cannot be sent.
 */
export function googleInteractions(options: GoogleInteractionsOptions): Provider {
  const where = "googleInteractions";
  const settings = { store: false, ...settingsOf(where, options, { ...interactionSettings, own: keyOption }) };
  return googleProvider(
    options,
    { ...{ where, name: "google-interactions", options: keyOption }, ...googleApi(options) },
    {
      ...{ codec: interactionSteps, settings, bodySettings },
      // Whether a streamed answer says what it continues from is not documented.
      capabilities: { chain: options.store === true, echo: "none" },
      path: () => "/interactions",
      wrap: (bodyText) => bodyText,
      read: (answer, reading) =>
        readAnswer(answer, {
          ...{ ...reading, client: { events }, form: interactionForm },
          stream: new InteractionStream(reading.onDelta, reading.limits.itemBytes),
        }),
    },
  );
}

const names: OptionNames<InteractionSettings> = {
  ...{ model: true, instructions: true, store: true, tools: true, generation_config: true, response_format: true },
  ...{ safety_settings: true, labels: true, service_tier: true, extraBody: true },
};

const interactionSettings: SettingsForm = {
  names,
  refusals: {
    input: "input is no setting: every request decides it anew",
    previous_interaction_id:
      "previous_interaction_id is no setting: with store: true the engine decides what to continue from",
    stream: "give transport: 'sse' or 'json' in the place of stream",
    system_instruction: "give system_instruction as instructions",
    background: "background is not supported: nothing would fetch the interaction",
    agent: "agent is not supported: give a model",
    cached_content: "cached_content is not supported: it brings what turnlog does not see",
    continuation_token: "continuation_token is not supported: it continues what turnlog does not see",
  },
};
