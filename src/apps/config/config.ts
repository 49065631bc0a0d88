import type { PriceOptions } from "../../analysis/costs/prices.ts";
import type { EngineConfig } from "../../engine/options/create-engine.ts";
import type { AnyEngine } from "../../engine/options/engine.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import type { AnthropicOptions } from "../../providers/anthropic/options.ts";
import type { AzureChatOptions } from "../../providers/chat/azure-chat.ts";
import type { ChatCompletionsOptions } from "../../providers/chat/chat-options.ts";
import type { ClaudeCliOptions } from "../../providers/claude-cli/claude-cli.ts";
import type { GoogleGeminiOptions } from "../../providers/google/google-gemini.ts";
import type { GoogleInteractionsOptions } from "../../providers/google/google-interactions.ts";
import type { GoogleVertexOptions } from "../../providers/google/vertex.ts";
import type { OllamaOptions } from "../../providers/ollama/ollama-options.ts";
import type { AzureResponsesOptions } from "../../providers/responses/azure-responses.ts";
import type { OpenaiResponsesOptions } from "../../providers/responses/responses-options.ts";

/** What `turnlog.config.{ts,mts,js,mjs,json}` holds. Every member may be absent. */
export type TurnlogConfig = {
  /** The store of the commands: an address, or a name in `stores`. */
  readonly store?: string;
  /** Addresses of stores, by the names that `--store` takes. A path is relative to the file. */
  readonly stores?: Readonly<Record<string, string>>;
  /** Providers, by the names that `engines` and `--stack` take. */
  readonly providers?: Readonly<Record<string, ProviderEntry>>;
  /** Engines, by the names that `--stack` takes. */
  readonly engines?: Readonly<Record<string, EngineEntry>>;
  /** The engine of `turnlog chat` and `turnlog run` without `--stack`: a name in `engines` or `providers`. */
  readonly engine?: string;
  /** The price file of the commands, relative to the file; with names of its entries, if models have others there. */
  readonly prices?: string | (PriceOptions & { readonly prices: string });
};

/** Names the environment variable that has a value: `{ env: "OPENAI_API_KEY" }`. */
export type Variable = { readonly env: string };

/** The options of the function of each wire. */
export type OptionsByWire = {
  readonly responses: OpenaiResponsesOptions;
  readonly "azure-responses": AzureResponsesOptions;
  readonly chat: ChatCompletionsOptions;
  readonly "azure-chat": AzureChatOptions;
  readonly anthropic: AnthropicOptions;
  readonly gemini: GoogleGeminiOptions;
  readonly vertex: GoogleVertexOptions;
  readonly interactions: GoogleInteractionsOptions;
  readonly ollama: OllamaOptions;
  readonly "claude-cli": ClaudeCliOptions;
};

/** The wires whose providers are made from settings alone. */
export type Wire = keyof OptionsByWire;

/** The options of a provider, in which a variable may have the value of a key, an address or a header. */
export type WithVariables<Options> = {
  readonly [Name in keyof Options]: Name extends "apiKey" | "baseURL" | "endpoint"
    ? Options[Name] | Variable
    : Name extends "headers" | "secrets" | "env"
      ? NonNullable<Options[Name]> extends Readonly<Record<string, infer Value>>
        ? Readonly<Record<string, Value | Variable>> | undefined
        : Options[Name]
      : Options[Name];
};

/** A provider by its wire: the options of the function of that wire, and `queryParams`, which are added to its address. */
export type ProviderSettings = {
  readonly [Name in Wire]: WithVariables<OptionsByWire[Name]> & {
    readonly wire: Name;
    readonly queryParams?: Readonly<Record<string, string | Variable>>;
  };
}[Wire];

export type ProviderEntry = ProviderSettings | Provider;

/** An engine made here: the options of `createEngine`, in which a provider may be a name in `providers`. */
export type EngineSettings = Omit<EngineConfig<never, unknown>, "provider" | "otherProviders"> & {
  readonly provider: string | Provider;
  readonly otherProviders?: Readonly<Record<string, string | Provider>>;
  /** The `ctx.context` of its layers and tools, or a function of `{ conversation, labels, runId }` that returns it for each run. */
  readonly context?: unknown;
};

/** An engine, a function that returns one, its settings, or the path of a module that exports it, relative to the file. */
export type EngineEntry = string | AnyEngine | (() => AnyEngine | Promise<AnyEngine>) | EngineSettings;

/**
 * A configuration, checked by the compiler as it is written: `export default defineConfig({ … })`. The commands check it again when they
 * read it.
 */
export const defineConfig = (config: TurnlogConfig): TurnlogConfig => config;
