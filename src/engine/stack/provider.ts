import type { JsonObject, JsonValue } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { ContentFilter } from "../../domain/events/inference-events.ts";
import type { Usage } from "../../projections/usage.ts";
import type { Capabilities, Codec, Settings } from "./codec.ts";
import type { ConversationObjects, StoredChain } from "./stored-responses.ts";

export type InferenceRequest = {
  /** The exact text to send, but for the values of secrets in its settings. */
  readonly bodyText: string;
  /** The settings that the body was made of. In them, and nowhere else in it, `secret("NAME")` stands for a value. */
  readonly settings: Settings;
  /** The same body with other settings, as values are filled in for secrets; absent from a request that no engine made. */
  readonly bodyWith?: (settings: Settings) => string;
  readonly transport: string;
  /** Where it goes out, of a provider that keeps connections. */
  readonly connection?: RequestConnection;
  readonly signal: AbortSignal;
  /** Called with every part of the answer as it comes; never with what is not yet in the answer. */
  readonly onDelta: (delta: StreamDelta) => void;
  /** Called, and waited for, once the server says that it makes the response in the background, under this id. */
  readonly onStarted?: (responseId: string, told?: StartedResponse) => Promise<void>;
};

/** Where a request goes out. */
export type RequestConnection = {
  /** The conversation that it belongs to, whose requests go out one after another. */
  readonly conversation: string;
  /**
   * The open connection that the request was planned for: on that one it goes out, or not at all. Null: on any, for it continues
   * from nothing that ends with a connection.
   */
  readonly lives: JsonObject | null;
  /** What its body says of that, for the codec. */
  readonly details?: JsonObject;
};

/** What a server says of a response that it begins to make in the background. */
export type StartedResponse = {
  /** The response as it came first, which is not what it is fetched as later. */
  readonly response?: JsonObject;
  /** The number of the last event of its stream that was read: the stream can be taken up again after it. */
  readonly cursor?: number;
};

/** A part of an answer while it comes. Never stored. */
export type StreamDelta =
  | { readonly type: "text-delta"; readonly outputIndex: number; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly outputIndex: number; readonly text: string }
  | { readonly type: "tool-call-delta"; readonly outputIndex: number; readonly text: string }
  /** What the answer has cost so far. */
  | { readonly type: "usage"; readonly usage: Usage }
  | { readonly type: "item-done"; readonly outputIndex: number; readonly item: JsonObject };

/** The final response resource, as the terminal event or the JSON body gave it. */
export type InferenceResponse = {
  readonly response: JsonObject;
  /** What the provider calls the request, for its support (`x-request-id`); null or absent where it does not say. */
  readonly requestId?: string | null;
  /** The connection that it came on: while that is open, a server may continue from an answer that it does not store. */
  readonly lives?: JsonObject;
  /** Something in it was a secret and is masked: the server holds other bytes, so nothing may be continued from there. */
  readonly isMasked?: boolean;
};

/** The code of an answer's failure, and the kind of the run's, where a call in it cannot be read. */
export const unreadableCall = "unreadable-call";

/** Why an inference failed, in words that providers share. */
export type FailureKind = (typeof failureKinds)[number];

export const failureKinds = [
  "lost-state",
  /** What can be continued once was, or another request is about to. */
  "already-continued",
  /** A setting is not the one that the anchor was made with. */
  "anchor-mismatch",
  "chaining-unsupported",
  "missing-tool-output",
  "orphan-tool-output",
  "reasoning-pairing",
  "duplicate-item",
  "item-not-found",
  "invalid-encrypted-content",
  "context-length-exceeded",
  "rate-limited",
  "conversation-locked",
  "conversation-not-found",
  "authentication",
  /** The content filters of the server blocked the prompt; what they found is in `contentFilters`. */
  "content-filtered",
  "invalid-request",
  "server-error",
  "connection",
  /** This way of sending requests cannot be had; nothing was sent. */
  "transport-unavailable",
  "stream-cut",
  /** The answer went past a limit of the provider's (`openaiResponses({ limits })`). */
  "body-too-large",
  "item-too-large",
  "stream-too-large",
  "answer-stalled",
  /** The call did not end by its deadline, so the engine left it. */
  "timeout",
  "aborted",
  /** The process that asked was gone before the answer came. */
  "interrupted",
  /** A response that was made in the background is not there any more. */
  "lost-response",
  /** The provider threw an error that is none of its own: a mistake in it. */
  "provider-failed",
  /** The answer came, and no store takes it. */
  "unstorable",
  /** The answer came, and a call in it has no name, or arguments that are neither a text nor an object. */
  unreadableCall,
  "unknown",
] as const;

/** The provider refused or failed. `outcome` says whether the server may have acted on the request. */
export class ProviderError extends TurnlogError<"provider-failed"> {
  override readonly name = "ProviderError";
  readonly kind: FailureKind;
  readonly outcome: "rejected" | "unknown";
  /** HTTP status, where one was given. */
  readonly status: number | null;
  readonly providerCode: string | null;
  readonly param: string | null;
  /** Items that were complete before a stream broke, and the text so far. */
  readonly partial: readonly JsonObject[];
  /** How long the server asked to wait before the request is sent again. */
  readonly retryAfterMs: number | null;
  /** Whether the server said that the request may be sent again (`x-should-retry`; false also for a quota that is used up); null where it did not say. */
  readonly shouldRetry: boolean | null;
  /** What the provider calls the request, for its support (`x-request-id`). */
  readonly requestId: string | null;
  /** What the content filters of the server found, where it says so. */
  readonly contentFilters: readonly ContentFilter[];
  /** What the provider answered, verbatim: an error body, or the response that failed. */
  readonly body: JsonValue;

  constructor(
    message: string,
    fields: {
      readonly kind: FailureKind;
      readonly outcome: "rejected" | "unknown";
      readonly status?: number | null;
      readonly providerCode?: string | null;
      readonly param?: string | null;
      readonly partial?: readonly JsonObject[];
      readonly retryAfterMs?: number | null;
      readonly shouldRetry?: boolean | null;
      readonly requestId?: string | null;
      readonly contentFilters?: readonly ContentFilter[];
      readonly body?: JsonValue;
      readonly cause?: unknown;
    },
  ) {
    super("provider-failed", message, { cause: fields.cause });
    this.kind = fields.kind;
    this.outcome = fields.outcome;
    this.status = fields.status ?? null;
    this.providerCode = fields.providerCode ?? null;
    this.param = fields.param ?? null;
    this.partial = fields.partial ?? [];
    this.retryAfterMs = fields.retryAfterMs ?? null;
    this.shouldRetry = fields.shouldRetry ?? null;
    this.requestId = fields.requestId ?? null;
    this.contentFilters = fields.contentFilters ?? [];
    this.body = fields.body ?? null;
  }
}

/** A model endpoint. An engine that is disposed of disposes of its provider, where that has connections or the like. */
export interface Provider extends Partial<AsyncDisposable> {
  /** `openai-responses`, `scripted`: the actor's name. */
  readonly name: string;
  /** Provider, address, organisation, project, the codec's family and a fingerprint of the credentials' owner, as one text. */
  readonly scope: string;
  readonly codec: Codec;
  readonly capabilities: Capabilities;
  /** Those of them that the caller has set: what was learnt of the endpoint in other processes does not change them. */
  readonly configured?: readonly string[];
  readonly transport: string;
  /**
   * How requests are sent where that cannot be had, and those beside the conversation. What the endpoint is seen to lack is remembered
   * as a capability by the transport's name, which `capabilities` then has.
   */
  readonly fallbackTransport?: string;
  /** What this endpoint is asked when the engine says nothing else. */
  readonly settings: Settings;
  /** The longest that one inference takes, its stream included; the engine ends a call that takes a second more. */
  readonly timeoutMs?: number;
  /** Where system blocks at the beginning of the Turn go: into the input (when absent), or into the instructions. */
  readonly systemAs?: "input" | "instructions";

  /**
   * One inference. The body is sent as it stands. What else is thrown counts as a `provider-failed` that the server may have
   * acted on.
   *
   * @throws {ProviderError} for every refusal, failure, cut stream and abort.
   */
  infer(request: InferenceRequest): Promise<InferenceResponse>;

  /** Where the next request of a conversation goes out by `transport`, of a provider that keeps connections; nothing is opened. */
  connection?(conversation: string, capabilities: Capabilities): Omit<RequestConnection, "conversation">;

  /**
   * Opens what the next request of a conversation goes out on, of a provider that keeps connections.
   *
   * @throws {ProviderError} of outcome `rejected`.
   */
  connect?(conversation: string, options: ConnectOptions): Promise<void>;

  /** What the body of a request says, beside where it goes out, that has the server hold what it brings and answer nothing. */
  readonly warmUpDetails?: JsonObject;

  /**
   * Waits for a response that is made in the background, where the endpoint can; its stream is taken up again after `cursor`,
   * where there is one.
   *
   * @throws {ProviderError} `lost-response` when it is not there; when it failed, or the wait was aborted.
   */
  waitFor?(responseId: string, options: WaitOptions): Promise<InferenceResponse>;

  /**
   * What mode `conversation` goes on in; absent where the endpoint has no such objects. Its calls fail as `infer` does,
   * `conversation-not-found` for an object that is not there.
   */
  readonly conversations?: ConversationObjects;

  /**
   * Tells the server that nobody waits for a response any more that it makes in the background. It may have ended; saying
   * so twice is harmless.
   *
   * @throws {ProviderError} when the server could not be told.
   */
  cancel?(responseId: string, options: { readonly signal: AbortSignal }): Promise<void>;

  /**
   * Has the server forget a response that it stores. Nothing may be continued from it afterwards.
   *
   * @throws {ProviderError} of status 404 when it is not there; else when it could not be deleted, or nobody knows.
   */
  delete?(responseId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;

  /**
   * Has the server forget a conversation object, and the items that it holds, which some servers keep when their object is gone.
   *
   * @throws {ProviderError} `conversation-not-found` when it is not there; else when not all could be deleted, or nobody knows.
   */
  deleteConversation?(objectId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;

  /**
   * A response that the server stores, with those that it goes on from, as far back as they are there.
   *
   * @throws {ProviderError} when the response is not there or is not finished, and when the server cannot be read.
   */
  storedChain?(responseId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<StoredChain>;

  /**
   * What a conversation object holds now, as responses: what the model said at a stretch, and what was said before it. The object
   * tells neither their ids nor their settings.
   *
   * @throws {ProviderError} when the object is not there, and when the server cannot be read.
   */
  storedConversation?(objectId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<StoredChain>;
}

export type ConnectOptions = { readonly capabilities: Capabilities; readonly signal: AbortSignal };

export type WaitOptions = {
  readonly signal: AbortSignal;
  /** Those that the response was asked for with. */
  readonly settings: Settings;
  /** Called with every part of the answer as it comes, as of an inference. */
  readonly onDelta?: (delta: StreamDelta) => void;
  /** What `onStarted` was told: the stream goes on after it. */
  readonly cursor?: number;
};
