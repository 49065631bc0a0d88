import type { JsonObject } from "../../base/json.ts";
import { allOf, anything, type OptionTable, required } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { filledHeaders, headerCredentials } from "../secrets/credentials.ts";
import type { Masked } from "../secrets/secret-spans.ts";
import { maskable } from "../secrets/secret-values.ts";
import type { OptionWords } from "../settings/checked-settings.ts";
import {
  type HttpOptions,
  httpOptions,
  type KeySource,
  type OwnerOption,
  type TextOrSecret,
  type TransportOption,
  transportOption,
} from "../settings/connection-options.ts";
import { instructions, modelLike } from "../settings/option-checks.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";

/** The settings of a Google model. They are recorded with the requests, and any text in them may be `secret("NAME")`. */
export type GeminiSettings = {
  readonly model: string;
  /** Sent as `systemInstruction`. System blocks at the beginning of the Turn are added to it. */
  readonly instructions?: TextOrSecret | undefined;
  /** Google's own tools, such as `{ googleSearch: {} }`, and `functionDeclarations`; the engine adds its tools to them. */
  readonly tools?: readonly JsonObject[] | undefined;
  readonly toolConfig?: JsonObject | undefined;
  readonly generationConfig?: JsonObject | undefined;
  readonly safetySettings?: readonly JsonObject[] | undefined;
  readonly labels?: JsonObject | undefined;
  readonly serviceTier?: string | undefined;
  /** Further members of the request body. */
  readonly extraBody?: JsonObject | undefined;
};

/** The endpoint of the model. None of this is recorded. */
export type GeminiConnection = HttpOptions &
  OwnerOption &
  TransportOption & {
    /** Includes the version, as `https://generativelanguage.googleapis.com/v1beta`. */
    readonly baseURL?: string | undefined;
  };

/** Returns the access token of the next request; gets `isRefused` if the server has rejected the previous token for it. */
export type Credentials = KeySource;

const geminiSettings: OptionTable<GeminiSettings> = {
  ...{ model: required(modelLike("gemini-3-flash-preview")), instructions },
  ...allOf(anything, "tools", "toolConfig", "generationConfig", "safetySettings", "labels", "serviceTier", "extraBody"),
};

/** Options of every Google endpoint. */
export const geminiConnection: OptionTable<GeminiConnection> = {
  ...{ baseURL: anything, credentialsOwner: anything, ...transportOption, ...httpOptions },
};

/** The options of generateContent, without those of a single endpoint. */
export const geminiWords: Omit<OptionWords, "provider" | "connection"> = {
  settings: geminiSettings,
  decided: new Set(["contents"]),
  refusals: new Map([
    ["systemInstruction", "give it as instructions"],
    ["cachedContent", "it adds content that turnlog does not see; Google caches repeated prefixes by itself"],
  ]),
  members: {
    generationConfig: [
      ...["temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "candidateCount", "seed"],
      ...["presencePenalty", "frequencyPenalty", "thinkingConfig", "mediaResolution", "speechConfig"],
      ...["responseMimeType", "responseSchema", "responseJsonSchema", "responseModalities"],
      ...["responseLogprobs", "logprobs", "imageConfig"],
    ],
    toolConfig: ["functionCallingConfig", "retrievalConfig"],
  },
  otherNames: new Map([
    ...["max_tokens", "maxTokens"].map((name) => [name, "maxOutputTokens"] as const),
    ...["thinking", "thinkingLevel", "thinkingBudget", "reasoning"].map((name) => [name, "thinkingConfig"] as const),
    ...["reasoning_effort", "reasoningEffort"].map((name) => [name, "thinkingConfig"] as const),
    ...["response_format", "responseFormat"].map((name) => [name, "responseJsonSchema"] as const),
    ...["tool_choice", "toolChoice"].map((name) => [name, "functionCallingConfig"] as const),
    ...["system", "system_instruction"].map((name) => [name, "instructions"] as const),
    ["stop", "stopSequences"],
  ]),
};

/** The address, after a check that it has no parts that do not belong there. */
export function addressOf(where: string, given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url !== null && ["http:", "https:"].includes(url.protocol) && url.username === "" && url.search === "")
    return url.href.replace(/\/+$/, "");
  const shown = given.replace(/^.*@/s, "").replace(/\?.*$/s, "");
  throw new ProviderSettingsError(
    `${where}: baseURL is '${shown}': give an address that begins with https:// or http://, without a user or query`,
  );
}

/** The scope of signatures: the address, and the owner of the credentials. */
export const scopeOf = (address: string, family: string, owner: string): string =>
  `google ${address} codec=${family} owner=${owner}`;

export const fingerprint = (key: string): string => sha256Hex(key).slice(0, 12);

/** The caller's headers, and the values in them to mask. */
export function headersOf({ headers = {}, secrets = {} }: GeminiConnection): {
  readonly headers: Readonly<Record<string, string>>;
  readonly masked: Masked;
} {
  return {
    headers: filledHeaders(headers, secrets),
    masked: [...maskable(secrets), ...headerCredentials(headers, secrets)],
  };
}
