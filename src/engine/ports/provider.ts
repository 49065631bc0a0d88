import type { JsonObject, JsonValue } from "../../base/json.ts";
import type { Usage } from "../../projections/usage.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Codec, Settings } from "./codec.ts";
import type { ConversationObjects, StoredChain } from "./stored-responses.ts";

export type InferenceRequest = {
  /** The exact text to send, with secrets by name. */
  readonly bodyText: string;
  /** The settings that the body was made from. Only here does `secret("NAME")` stand for a value. */
  readonly settings: Settings;
  /** Encodes the same body with other settings, where secrets have their values; absent if no engine made the request. */
  readonly bodyWith?: (settings: Settings) => string;
  readonly transport: string;
  /** The connection to use, for a provider that keeps connections. */
  readonly connection?: RequestConnection;
  readonly signal: AbortSignal;
  /** Called with every part of the answer as it arrives, and never with anything that the answer does not contain yet. */
  readonly onDelta: (delta: StreamDelta) => void;
  /** Called when the server says that it makes the response in the background, under this id. The provider awaits it. */
  readonly onStarted?: (responseId: string, told?: StartedResponse) => Promise<void>;
};

/** The connection that a request uses. */
export type RequestConnection = {
  /** The request's conversation: its requests go out one after another. */
  readonly conversation: string;
  /**
   * The open connection that the request was planned for: the provider sends it on this one or not at all. Null allows any
   * connection, because the request continues from nothing that ends with a connection.
   */
  readonly lives: JsonObject | null;
  /** What the request body says about the connection, for the codec. */
  readonly details?: JsonObject;
};

/** What a server first says about a response that it makes in the background. */
export type StartedResponse = {
  /** The response as it first arrived; a later fetch returns another version. */
  readonly response?: JsonObject;
  /** The number of the last stream event that was read: the stream can resume after it. */
  readonly cursor?: number;
};

/** What an item of an answer is, for those who show it while it arrives. */
export type ItemKind = "text" | "reasoning" | "tool-call";

/** The beginning of an item; a dialect gives the members of a call that its wire has by then. */
export type ItemStart = {
  readonly type: "item-start";
  readonly outputIndex: number;
  readonly kind: ItemKind;
  readonly callId?: string;
  readonly name?: string;
};

/** A part of an answer as it arrives. Never stored. */
export type StreamDelta =
  /** Reports a call as soon as its name is known. Other items need none: the engine reports each before its first delta. */
  | ItemStart
  | { readonly type: "text-delta"; readonly outputIndex: number; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly outputIndex: number; readonly text: string }
  | { readonly type: "tool-call-delta"; readonly outputIndex: number; readonly text: string }
  /** The usage of the answer so far, and the server's own report of it, which is recorded if the answer fails. */
  | { readonly type: "usage"; readonly usage: Usage; readonly reported?: JsonValue }
  | { readonly type: "item-done"; readonly outputIndex: number; readonly item: JsonObject };

/** A piece of an item's text. */
export type TextDelta = Extract<StreamDelta, { readonly text: string }>;

/** The final response resource, from the terminal event or the JSON body. */
export type InferenceResponse = {
  readonly response: JsonObject;
  /** The provider's id of the request, for its support (`x-request-id`); null or absent if the provider gives none. */
  readonly requestId?: string | null;
  /** The connection that the answer came on: while it is open, a server may continue from an answer that it does not store. */
  readonly lives?: JsonObject;
  /** The answer contained a secret, which is masked here. The server holds other bytes, so no request may continue from it. */
  readonly isMasked?: boolean;
};

/** A model endpoint. Disposing of an engine disposes of its provider, if that holds resources such as connections. */
export interface Provider extends Partial<AsyncDisposable> {
  /** `openai-responses`, `scripted`: the name of the actor. */
  readonly name: string;
  /** Provider, address, organisation, project, the codec's family and a fingerprint of the credentials' owner, as one text. */
  readonly scope: string;
  readonly codec: Codec;
  readonly capabilities: Capabilities;
  /** The capabilities that the caller configured: what other processes learned about the endpoint does not override them. */
  readonly configured?: readonly string[];
  readonly transport: string;
  /**
   * The transport of requests outside the conversation, and of all requests if `transport` is unavailable. If the endpoint turns
   * out to lack `transport`, the engine remembers that as a capability of that name, and `capabilities` then has it.
   */
  readonly fallbackTransport?: string;
  /** The default settings of requests to this endpoint. */
  readonly settings: Settings;
  /** The longest time that one inference takes, its stream included; the engine ends a call that takes a second more. */
  readonly timeoutMs?: number;
  /** Where leading system blocks of the Turn go: into the input (the default), or into the instructions. */
  readonly systemAs?: "input" | "instructions";

  /**
   * Makes one inference. Sends the body as it is. Any other error is recorded as `provider-failed` with an unknown outcome.
   *
   * @throws {ProviderError} for every rejection, failure, cut stream and abort.
   */
  infer(request: InferenceRequest): Promise<InferenceResponse>;

  /** The connection of a conversation's next request by `transport`, for a provider that keeps connections; opens nothing. */
  connection?(conversation: string, capabilities: Capabilities): Omit<RequestConnection, "conversation">;

  /**
   * Opens the connection of a conversation's next request, for a provider that keeps connections.
   *
   * @throws {ProviderError} with outcome `rejected`.
   */
  connect?(conversation: string, options: ConnectOptions): Promise<void>;

  /** The members of a request body, beside its connection, with which the server keeps the input and answers nothing. */
  readonly warmUpDetails?: JsonObject;

  /**
   * Waits for a response that the server makes in the background, if the endpoint can; resumes its stream after `cursor`, if given.
   *
   * @throws {ProviderError} `lost-response` if the response does not exist; also if it failed, or the wait was aborted.
   */
  waitFor?(responseId: string, options: WaitOptions): Promise<InferenceResponse>;

  /**
   * The conversation objects for mode `conversation`; absent if the endpoint has none. Its calls fail as `infer` does, with
   * `conversation-not-found` if the object does not exist.
   */
  readonly conversations?: ConversationObjects;

  /**
   * Asks the server to stop a response that it makes in the background. The response may have ended already; repeating the call is
   * harmless.
   *
   * @throws {ProviderError} if the server did not take the request.
   */
  cancel?(responseId: string, options: { readonly signal: AbortSignal }): Promise<void>;

  /**
   * Deletes a stored response from the server. No request may continue from it afterwards.
   *
   * @throws {ProviderError} with status 404 if the response does not exist; otherwise if it could not be deleted, or the outcome is
   *   unknown.
   */
  delete?(responseId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;

  /**
   * Deletes a conversation object from the server, and its items, which some servers keep after the object is gone.
   *
   * @throws {ProviderError} `conversation-not-found` if the object does not exist; otherwise if not everything could be deleted, or
   *   the outcome is unknown.
   */
  deleteConversation?(objectId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;

  /**
   * Reads a stored response from the server, with the responses that it continues from, as far back as they exist.
   *
   * @throws {ProviderError} if the response does not exist or is not finished, or the server cannot be read.
   */
  storedChain?(responseId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<StoredChain>;

  /**
   * Reads what a conversation object holds now, as responses: each has what the model said at a stretch, and the input before it.
   * The object knows neither their ids nor their settings.
   *
   * @throws {ProviderError} if the object does not exist, or the server cannot be read.
   */
  storedConversation?(objectId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<StoredChain>;
}

export type ConnectOptions = { readonly capabilities: Capabilities; readonly signal: AbortSignal };

export type WaitOptions = {
  readonly signal: AbortSignal;
  /** The settings of the request for the response. */
  readonly settings: Settings;
  /** Called with every part of the answer as it arrives, as in an inference. */
  readonly onDelta?: (delta: StreamDelta) => void;
  /** The cursor that `onStarted` received: the stream resumes after it. */
  readonly cursor?: number;
};
