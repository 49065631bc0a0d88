import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { nearestName } from "../../base/nearest-name.ts";
import { allOf, anything, kindOf, type OptionTable, required } from "../../base/options.ts";
import type { Settings } from "../../engine/ports/codec.ts";
import { checkedSettings, type OptionWords } from "../settings/checked-settings.ts";
import { type HttpOptions, httpOptions, type TextOrSecret } from "../settings/connection-options.ts";
import { instructions, modelLike, wordOf } from "../settings/option-checks.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { decidedMembers } from "./ollama-codec.ts";

/** The address of Ollama, and how it is called. Only the address is recorded. */
export type OllamaConnection = HttpOptions & {
  /** `OLLAMA_HOST`, else `http://127.0.0.1:11434`, by default. A query is sent with every request and masked; it is not part of the scope. */
  readonly baseURL?: string | undefined;
  /** Sent as `Authorization: Bearer KEY`, for ollama.com; `OLLAMA_API_KEY` by default, and no key without that. */
  readonly apiKey?: TextOrSecret | undefined;
  /** How answers come: line by line (`ndjson`, the default), or whole. */
  readonly transport?: "ndjson" | "json" | undefined;
};

/** The settings of requests (Ollama's API documentation), sent and recorded unchanged. */
export type OllamaSettings = {
  readonly model: string;
  /** The first system message of every request. */
  readonly instructions?: TextOrSecret | undefined;
  /** In the form `{ name, description, parameters }` or that of the wire. The engine adds its own tools. */
  readonly tools?: readonly JsonObject[] | undefined;
  /** `json`, or a JSON Schema. */
  readonly format?: "json" | JsonObject | undefined;
  /** Options of the model: `num_ctx`, `num_predict`, `temperature`, `seed`, … */
  readonly options?: JsonObject | undefined;
  readonly think?: boolean | "low" | "medium" | "high" | "max" | undefined;
  /** How long the model stays loaded: `"5m"`, or seconds. */
  readonly keep_alive?: string | number | undefined;
  /** Further members of the request body. */
  readonly extraBody?: JsonObject | undefined;
};

export type OllamaOptions = OllamaConnection & OllamaSettings;

/** The options of models (Ollama's API documentation, and their earlier names). */
const modelOptionNames: readonly string[] = [
  ...["num_ctx", "num_keep", "num_predict", "num_batch", "num_gpu", "num_thread", "num_gqa", "main_gpu", "numa"],
  ...["seed", "temperature", "top_k", "top_p", "min_p", "typical_p", "tfs_z", "stop", "penalize_newline"],
  ...["repeat_last_n", "repeat_penalty", "presence_penalty", "frequency_penalty"],
  ...["mirostat", "mirostat_tau", "mirostat_eta", "low_vram", "f16_kv", "logits_all", "vocab_only"],
  ...["use_mmap", "use_mlock", "embedding_only", "rope_frequency_base", "rope_frequency_scale"],
];

/** Ollama ignores unknown options, so that a misspelt one would have no effect and no error. */
function modelOptions(what: string, options: unknown): JsonObject {
  if (!isJsonObject(options)) throw new ProviderSettingsError(`${what} is ${kindOf(options)}: give an object`);
  const isMisspelt = (name: string): boolean =>
    !modelOptionNames.includes(name) && nearestName(name, modelOptionNames) !== null;
  const unknown = Object.keys(options).find(isMisspelt);
  if (unknown === undefined) return options;
  const near = nearestName(unknown, modelOptionNames);
  throw new ProviderSettingsError(`${what} has no '${unknown}': did you mean '${near}'?`);
}

const connection: OptionTable<OllamaConnection> = {
  ...{ baseURL: anything, apiKey: anything, transport: wordOf("ndjson", "json"), ...httpOptions },
};

const settings: OptionTable<OllamaSettings> = {
  ...{ model: required(modelLike("qwen3")), instructions, tools: anything, format: anything, options: modelOptions },
  ...allOf(anything, "think", "keep_alive", "extraBody"),
};

const words: OptionWords = {
  members: { options: modelOptionNames },
  ...{ provider: "ollama", connection, settings, decided: decidedMembers, refusals: new Map() },
  // Names in other APIs.
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
 * The settings among the options, in the caller's order, with the members of `extraBody`.
 *
 * @throws {ProviderSettingsError} if an option is unknown or not JSON, or every request decides it.
 */
export const settingsOf = (options: OllamaOptions): Settings => checkedSettings(options, words);

/**
 * The address and its query, read as Ollama's own client does: http is the default scheme, and 11434 the default port.
 *
 * @throws {ProviderSettingsError} if the address is invalid or has a user, which `fetch` rejects.
 */
export function addressOf(given: string): { readonly address: string; readonly query: string } {
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(given);
  const text = given === "" ? "http://127.0.0.1:11434" : hasScheme ? given : `http://${given}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new ProviderSettingsError(
      `the base URL of ollama is ${kindOf(given)}, not a URL: give one such as http://127.0.0.1:11434`,
    );
  if (url.username !== "" || url.password !== "")
    throw new ProviderSettingsError(
      "the base URL of ollama contains a user or password: give headers.authorization instead",
    );
  // The port 80 reads as an empty port.
  if (!hasScheme && !/:\d+(\/|$)/.test(text)) url.port = "11434";
  return { address: `${url.origin}${url.pathname.replace(/\/+$/, "")}`, query: url.search };
}
