import type { JsonObject } from "../../base/json.ts";
import { anything, type OptionTable } from "../../base/options.ts";
import type { SecretReference } from "../../domain/secret-reference.ts";
import type { AnswerLimits } from "./answer-limits.ts";
import type { GivenCapabilities } from "./capabilities.ts";
import { functionOf, headers, milliseconds, wordOf } from "./option-checks.ts";

/** A text, or `secret("NAME")` for one that must not be recorded. */
export type TextOrSecret = string | SecretReference;

/**
 * The values of secrets, by the names used in `secret("NAME")`. They never reach the log. A value may be undefined, as an environment
 * variable may be; then it is missing only where a setting names it.
 */
export type Secrets = Readonly<Record<string, string | undefined>>;

/** Returns the key or token of the next request. It is called before each request, so cache a key that is still valid. */
export type KeySource = (asked: KeyAsked) => string | Promise<string>;

export type KeyAsked = {
  /** The server has just refused the key of this request, so return another one (Google's endpoints). */
  readonly isRefused: boolean;
};

/** Options of every provider that sends requests over HTTP. None of them is recorded. */
export type HttpOptions = {
  /** The values of `authorization`, and of headers whose name ends in key, token, secret or cookie, are masked as the key is. */
  readonly headers?: Readonly<Record<string, TextOrSecret>> | undefined;
  /**
   * Values for each `secret("NAME")` in settings, headers and apiKey, of 8 characters or more. They are sent, never recorded, and masked as
   * `[secret NAME]` wherever the provider repeats them. An answer that repeats one is not continued from.
   */
  readonly secrets?: Secrets | undefined;
  /** Limits a whole answer, stream or background work included; ten minutes by default. */
  readonly timeoutMs?: number | undefined;
  /** Limits on the size of an answer and on its pauses. */
  readonly limits?: Partial<AnswerLimits> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
};

/** `secrets` and `limits` are checked where they are used. */
export const httpOptions: OptionTable<HttpOptions> = {
  ...{ headers, secrets: anything, timeoutMs: milliseconds, limits: anything },
  fetch: functionOf("a function such as fetch"),
};

/** An option of providers whose scope includes whose key is used. */
export type OwnerOption = {
  /** Names the owner of the credentials in place of the key's fingerprint, so that a new key keeps what belongs to the endpoint. */
  readonly credentialsOwner?: string | undefined;
};

/** Options of providers that are configured by address and key. */
export type KeyedOptions = HttpOptions &
  OwnerOption & {
    /** A function is called before every request, for keys that expire; `credentialsOwner` then names their owner. */
    readonly apiKey?: TextOrSecret | KeySource | undefined;
    readonly baseURL?: string | undefined;
    /** Further members of the request body that turnlog has no types for; recorded as settings are. */
    readonly extraBody?: JsonObject | undefined;
  };

export const keyedOptions: OptionTable<KeyedOptions> = {
  ...{ apiKey: anything, baseURL: anything, credentialsOwner: anything, ...httpOptions, extraBody: anything },
};

/** How answers come over HTTP; `sse` by default. */
export type TransportOption = { readonly transport?: "json" | "sse" | undefined };

export const transportOption: OptionTable<TransportOption> = { transport: wordOf("json", "sse") };

/** Options for a model of the Responses API. None of them is recorded. */
export type ConnectionOptions = KeyedOptions & {
  /**
   * `OPENAI_API_KEY` by default. Masked wherever the provider repeats it, unless it has fewer than 8 characters, as placeholders for local
   * servers have.
   */
  readonly apiKey?: KeyedOptions["apiKey"];
  /**
   * `OPENAI_BASE_URL` by default, else OpenAI's own address. `azureResponses` makes the address for Azure. Its query goes with every
   * request, and its user and password as basic authorization; neither is part of the recorded scope.
   */
  readonly baseURL?: KeyedOptions["baseURL"];
  readonly organization?: string | undefined;
  readonly project?: string | undefined;
  /**
   * How requests are sent; `sse` by default. `websocket` uses one connection for many conversations and can continue from answers that are
   * not stored; if the endpoint does not support it, the rest of a run goes by `sse`. Dispose of the engine to close the connection.
   */
  readonly transport?: "json" | "sse" | "websocket" | undefined;
  /**
   * Where this endpoint differs from OpenAI's own. turnlog learns the rest: after a refusal it tries the request without a capability, and
   * if that is accepted the conversation remembers it. A capability that is set here stays, whatever was learnt. `"probe"` assumes the
   * capability and then learns: `{ emptyInput: "probe" }`.
   */
  readonly capabilities?: GivenCapabilities | undefined;
  /** `instructions`: system blocks at the beginning become instructions, so that changing them changes no context. */
  readonly systemAs?: "input" | "instructions" | undefined;
};

export const connectionOptions: OptionTable<ConnectionOptions> = {
  ...keyedOptions,
  ...{ organization: anything, project: anything, transport: wordOf("json", "sse", "websocket") },
  ...{ capabilities: anything, systemAs: anything },
};
