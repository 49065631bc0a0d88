import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { nearestName } from "../../base/nearest-name.ts";
import { kindOf, type OptionNames } from "../../base/options.ts";
import type { Settings } from "../../engine/stack/codec.ts";
import type { AnswerLimits } from "../settings/answer-limits.ts";
import { checkedSettings, checkGiven, type OptionWords } from "../settings/checked-settings.ts";
import type { Secrets, TextOrSecret } from "../settings/connection-options.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { decidedMembers } from "./ollama-codec.ts";

/** Where Ollama is. None of this is recorded, but for the address. */
export type OllamaConnection = {
  /** `OLLAMA_HOST`, else `http://127.0.0.1:11434`, when absent. A query goes with every request, and is masked; it is no part of the scope. */
  readonly baseURL?: string | undefined;
  /** Sent as `Authorization: Bearer KEY`, as ollama.com wants it; `OLLAMA_API_KEY` when absent, and none where that is absent too. */
  readonly apiKey?: TextOrSecret | undefined;
  /** The values of `authorization`, and of others whose name ends in key, token, secret or cookie, are masked as the key is. */
  readonly headers?: Readonly<Record<string, TextOrSecret>> | undefined;
  /** Values for what is `secret("NAME")`, of 8 characters or more: sent, never recorded, and masked in what the server says. */
  readonly secrets?: Secrets | undefined;
  /** How answers come: line by line (`ndjson`, when absent), or whole. */
  readonly transport?: "ndjson" | "json" | undefined;
  /** For a whole answer, loading the model included; ten minutes when absent. */
  readonly timeoutMs?: number | undefined;
  /** How much of an answer is taken in, and how long it may pause. */
  readonly limits?: Partial<AnswerLimits> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
};

/** What its requests say besides the conversation (Ollama's API documentation), sent and recorded as it stands. */
export type OllamaSettings = {
  readonly model: string;
  /** The first system message of every request. */
  readonly instructions?: TextOrSecret | undefined;
  /** As `{ name, description, parameters }`, or as the wire has them. Tools of the engine need not be here. */
  readonly tools?: readonly JsonObject[] | undefined;
  /** `json`, or a JSON Schema. */
  readonly format?: "json" | JsonObject | undefined;
  /** Of the model: `num_ctx`, `num_predict`, `temperature`, `seed`, … */
  readonly options?: JsonObject | undefined;
  readonly think?: boolean | "low" | "medium" | "high" | "max" | undefined;
  /** How long the model stays loaded: `"5m"`, or seconds. */
  readonly keep_alive?: string | number | undefined;
  /** Further members of the request's body. */
  readonly extraBody?: JsonObject | undefined;
};

export type OllamaOptions = OllamaConnection & OllamaSettings;

const connectionNames: OptionNames<OllamaConnection> = {
  ...{
    baseURL: true,
    apiKey: true,
    headers: true,
    secrets: true,
    transport: true,
    timeoutMs: true,
    limits: true,
    fetch: true,
  },
};

const settingNames: OptionNames<OllamaSettings> = {
  ...{ model: true, instructions: true, tools: true, format: true, options: true, think: true, keep_alive: true },
  extraBody: true,
};

/** What models take (Ollama's API documentation, and the names that it had before). */
const modelOptions: readonly string[] = [
  ...["num_ctx", "num_keep", "num_predict", "num_batch", "num_gpu", "num_thread", "num_gqa", "main_gpu", "numa"],
  ...["seed", "temperature", "top_k", "top_p", "min_p", "typical_p", "tfs_z", "stop", "penalize_newline"],
  ...["repeat_last_n", "repeat_penalty", "presence_penalty", "frequency_penalty"],
  ...["mirostat", "mirostat_tau", "mirostat_eta", "low_vram", "f16_kv", "logits_all", "vocab_only"],
  ...["use_mmap", "use_mlock", "embedding_only", "rope_frequency_base", "rope_frequency_scale"],
];

/** Ollama passes over an option that it does not know: one that is misspelt would do nothing, and say nothing. */
function checkModelOptions(options: JsonObject | undefined): void {
  if (options === undefined) return;
  if (!isJsonObject(options)) throw new ProviderSettingsError(`ollama: options is ${kindOf(options)}: give an object`);
  const unknown = Object.keys(options).find((name) => !modelOptions.includes(name) && nearestName(name, modelOptions));
  if (unknown === undefined) return;
  const near = nearestName(unknown, modelOptions);
  throw new ProviderSettingsError(`ollama: options has no '${unknown}': did you mean '${near}'?`);
}

const words: OptionWords = {
  members: { options: modelOptions },
  ...{ modelExample: "qwen3", transports: ["ndjson", "json"] },
  ...{ provider: "ollama", connectionNames, settingNames, decided: decidedMembers, refusals: new Map() },
  // What other APIs call the same.
  otherNames: new Map([
    ...["max_tokens", "maxTokens", "max_output_tokens", "maxOutputTokens"].map(
      (name) => [name, "num_predict"] as const,
    ),
    ...["reasoning", "reasoning_effort", "reasoningEffort", "thinking"].map((name) => [name, "think"] as const),
    ["system", "instructions"],
    ["response_format", "format"],
    ["host", "baseURL"],
  ]),
};

/**
 * The settings among the options, in the caller's order, and what `extraBody` adds to them.
 *
 * @throws {ProviderSettingsError} for a name that is no option, for what is no JSON, and for what every request decides.
 */
export function settingsOf(options: OllamaOptions): Settings {
  checkGiven("ollama", options);
  checkModelOptions(options.options);
  return checkedSettings(options, words);
}

/**
 * The address and its query, as Ollama's own client reads them: without a scheme it is http, and the port 11434.
 *
 * @throws {ProviderSettingsError} for what is no address, and for one with a user, which `fetch` refuses to send.
 */
export function addressOf(given: string): { readonly address: string; readonly query: string } {
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(given);
  const text = given === "" ? "http://127.0.0.1:11434" : hasScheme ? given : `http://${given}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new ProviderSettingsError(
      `the base URL of ollama is ${kindOf(given)}, and no URL: give one such as http://127.0.0.1:11434`,
    );
  if (url.username !== "" || url.password !== "")
    throw new ProviderSettingsError(
      "the base URL of ollama holds a user or password: give headers.authorization instead",
    );
  // A port of 80 reads as none.
  if (!hasScheme && !/:\d+(\/|$)/.test(text)) url.port = "11434";
  return { address: `${url.origin}${url.pathname.replace(/\/+$/, "")}`, query: url.search };
}
