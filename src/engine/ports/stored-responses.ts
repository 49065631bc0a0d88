import type { JsonObject } from "../../base/json.ts";
import type { Settings } from "./codec.ts";

/** A response that a server stores, with its request. */
export type StoredResponse = {
  /** Null if the server does not report it. */
  readonly id: string | null;
  /** The response's own input, in the form of an answer with these items, so that the codec can read it like the response. */
  readonly input: JsonObject;
  readonly response: JsonObject;
  /** The settings that the response reports, in the form in which this provider would send them. */
  readonly settings: Settings;
};

/** Responses that a server stores, each continuing from the one before. */
export type StoredChain = {
  /** Oldest first. */
  readonly responses: readonly StoredResponse[];
  /** The response that the first one continues from and that could not be read; null if it continues from nothing. */
  readonly before: { readonly id: string; readonly reason: "not-found" | "conversation" | "too-many" } | null;
  /** A response contained a secret, which is masked here. The server holds other bytes. */
  readonly isMasked?: boolean;
};

/** Objects at a server that requests add to. Every call may be repeated: a deleted item stays deleted. */
export interface ConversationObjects {
  /** Creates an empty object and resolves to its id. */
  create(options: { readonly signal: AbortSignal }): Promise<string>;
  /** The ids of its newest items, newest first. */
  newestItems(
    id: string,
    options: { readonly limit: number; readonly signal: AbortSignal },
  ): Promise<readonly string[]>;
  /** Deletes an item; succeeds if it is already gone. */
  deleteItem(id: string, itemId: string, options: { readonly signal: AbortSignal }): Promise<void>;
}
