import type { JsonObject } from "../../base/json.ts";
import { anything, type OptionTable } from "../../base/options.ts";
import type { SecretReference } from "../../log/codec/references.ts";
import type { AnswerLimits } from "./answer-limits.ts";
import type { GivenCapabilities } from "./capabilities.ts";
import { functionOf, headers, milliseconds, wordOf } from "./option-checks.ts";

/** A text of settings, or `secret("NAME")` in the place of one that must not be recorded. */
export type TextOrSecret = string | SecretReference;

/**
 * The values of secrets, by the names that `secret("NAME")` gives them. They never reach the log. One that is undefined, as an
 * environment variable may be, is missing where it is named.
 */
export type Secrets = Readonly<Record<string, string | undefined>>;

/** Gives the key or token of the next request: it is asked before each, so it keeps what is still good itself. */
export type KeySource = (asked: KeyAsked) => string | Promise<string>;

export type KeyAsked = {
  /** The server has just refused the one that was given for this request, so that it has to be another (Google's endpoints). */
  readonly isRefused: boolean;
};

/** What every provider takes that sends requests over HTTP. None of this is recorded. */
export type HttpOptions = {
  /** The values of `authorization`, and of others whose name ends in key, token, secret or cookie, are masked as the key is. */
  readonly headers?: Readonly<Record<string, TextOrSecret>> | undefined;
  /**
   * Values for what is `secret("NAME")` in settings, headers and apiKey, of 8 characters or more: sent, never recorded, and
   * masked as `[secret NAME]` wherever the provider repeats them. An answer that repeats one is not continued from.
   */
  readonly secrets?: Secrets | undefined;
  /** For a whole answer, stream or background included; ten minutes when absent. */
  readonly timeoutMs?: number | undefined;
  /** How much of an answer is taken in, and how long it may pause. */
  readonly limits?: Partial<AnswerLimits> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
};

/** Secrets and limits are looked at where they are used. */
export const httpOptions: OptionTable<HttpOptions> = {
  ...{ headers, secrets: anything, timeoutMs: milliseconds, limits: anything },
  fetch: functionOf("a function such as fetch"),
};

/** What every provider takes that knows its endpoint by whose key asks. */
export type OwnerOption = {
  /** Names whose credentials they are in place of the key's own fingerprint, so that a new key keeps what belongs to the endpoint. */
  readonly credentialsOwner?: string | undefined;
};

/** Where a model is and how it is asked, at providers whose wire is by address and key. */
export type KeyedOptions = HttpOptions &
  OwnerOption & {
    /** A function is asked before every request, for keys that do not last; `credentialsOwner` then says whose they are. */
    readonly apiKey?: TextOrSecret | KeySource | undefined;
    readonly baseURL?: string | undefined;
    /** Further members of the request's body, for servers that know more than is typed here; recorded as settings are. */
    readonly extraBody?: JsonObject | undefined;
  };

export const keyedOptions: OptionTable<KeyedOptions> = {
  ...{ apiKey: anything, baseURL: anything, credentialsOwner: anything, ...httpOptions, extraBody: anything },
};

/** How answers come over HTTP; `sse` when absent. */
export type TransportOption = { readonly transport?: "json" | "sse" | undefined };

export const transportOption: OptionTable<TransportOption> = { transport: wordOf("json", "sse") };

/** Where a model of the Responses API is and how it is asked. None of this is recorded. */
export type ConnectionOptions = KeyedOptions & {
  /**
   * `OPENAI_API_KEY` when absent. Masked wherever the provider repeats it, unless it has less than 8 characters, as the
   * placeholders have that servers of one's own ask for.
   */
  readonly apiKey?: KeyedOptions["apiKey"];
  /**
   * `OPENAI_BASE_URL`, else OpenAI's own, when absent. Of Azure's `azureResponses` makes one. Its query goes
   * with every request, and a user and password as basic authorization; neither is part of the recorded scope.
   */
  readonly baseURL?: KeyedOptions["baseURL"];
  readonly organization?: string | undefined;
  readonly project?: string | undefined;
  /**
   * How requests are sent; `sse` when absent. `websocket`: over one connection for many conversations, where what is not stored
   * is continued from too; where the endpoint has none, the rest of a run goes by `sse`. Dispose of the engine to close it.
   */
  readonly transport?: "json" | "sse" | "websocket" | undefined;
  /**
   * What this endpoint can do other than OpenAI's own. What is not given here is learnt: a refused request is tried without,
   * and once that is taken the conversation remembers it. What is given stays, whatever was learnt, but
   * for `"probe"`, which is tried and then learnt: `{ emptyInput: "probe" }`.
   */
  readonly capabilities?: GivenCapabilities | undefined;
  /** `instructions`: system blocks at the beginning go there, so that changing them changes no context. */
  readonly systemAs?: "input" | "instructions" | undefined;
};

export const connectionOptions: OptionTable<ConnectionOptions> = {
  ...keyedOptions,
  ...{ organization: anything, project: anything, transport: wordOf("json", "sse", "websocket") },
  ...{ capabilities: anything, systemAs: anything },
};
