import type { JsonObject } from "../../base/json.ts";
import type { OptionNames } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { filledHeaders, headerCredentials } from "../secrets/credentials.ts";
import type { Masked } from "../secrets/secret-spans.ts";
import { maskable } from "../secrets/secret-values.ts";
import type { AnswerLimits } from "../settings/answer-limits.ts";
import type { OptionWords } from "../settings/checked-settings.ts";
import type { KeySource, Secrets, TextOrSecret } from "../settings/connection-options.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";

/** How a model of Google is asked. These are recorded with the requests, and any text in them may be `secret("NAME")`. */
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
  /** Further members of the request's body. */
  readonly extraBody?: JsonObject | undefined;
};

/** Where the model is. None of this is recorded. */
export type GeminiConnection = {
  /** With the version, as `https://generativelanguage.googleapis.com/v1beta`. */
  readonly baseURL?: string | undefined;
  /** Names whose credentials they are in place of the key's own fingerprint, so that a new key is the same endpoint. */
  readonly credentialsOwner?: string | undefined;
  /** The values of those whose name ends in key, token, secret or cookie, and of `authorization`, are masked as the key is. */
  readonly headers?: Readonly<Record<string, TextOrSecret>> | undefined;
  /** `sse` (`streamGenerateContent`) when absent. */
  readonly transport?: "json" | "sse" | undefined;
  /** Values for what is `secret("NAME")`, of 8 characters or more: sent, never recorded, and masked in what the provider says. */
  readonly secrets?: Secrets | undefined;
  /** For a whole answer; ten minutes when absent. */
  readonly timeoutMs?: number | undefined;
  /** How much of an answer is taken in, and how long it may pause. */
  readonly limits?: Partial<AnswerLimits> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
};

/** Gives the access token of the next request; `isRefused`, where the server has refused the one it gave for it before. */
export type Credentials = KeySource;

const settingNames: OptionNames<GeminiSettings> = {
  ...{ model: true, instructions: true, tools: true, toolConfig: true, generationConfig: true },
  ...{ safetySettings: true, labels: true, serviceTier: true, extraBody: true },
};

/** Of every endpoint of Google's. */
export const connectionNames: OptionNames<GeminiConnection> = {
  ...{ baseURL: true, credentialsOwner: true, headers: true, transport: true, secrets: true },
  ...{ timeoutMs: true, limits: true, fetch: true },
};

/** What an option of generateContent is called, but for those of one endpoint. */
export const geminiWords: Omit<OptionWords, "provider" | "connectionNames"> = {
  settingNames,
  decided: new Set(["contents"]),
  refusals: new Map([
    ["systemInstruction", "give it as instructions"],
    ["cachedContent", "it brings what turnlog does not see; Google caches repeated beginnings by itself"],
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
  ...{ modelExample: "gemini-3-flash-preview", transports: ["json", "sse"] },
};

/** The address without what does not belong to it. */
export function addressOf(where: string, given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url !== null && ["http:", "https:"].includes(url.protocol) && url.username === "" && url.search === "")
    return url.href.replace(/\/+$/, "");
  const shown = given.replace(/^.*@/s, "").replace(/\?.*$/s, "");
  throw new ProviderSettingsError(
    `${where}: baseURL is '${shown}': give an address that begins with https:// or http://, without user and query`,
  );
}

/** What a signature is good for: the address, and whose credentials they are. */
export const scopeOf = (address: string, family: string, owner: string): string =>
  `google ${address} codec=${family} owner=${owner}`;

export const fingerprint = (key: string): string => sha256Hex(key).slice(0, 12);

/** The headers of the caller, and what of them nobody may read. */
export function headersOf({ headers = {}, secrets = {} }: GeminiConnection): {
  readonly headers: Readonly<Record<string, string>>;
  readonly masked: Masked;
} {
  return {
    headers: filledHeaders(headers, secrets),
    masked: [...maskable(secrets), ...headerCredentials(headers, secrets)],
  };
}
