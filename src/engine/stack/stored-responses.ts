import type { JsonObject } from "../../base/json.ts";
import type { Settings } from "./codec.ts";

/** A response that a server stores, and what it was asked with. */
export type StoredResponse = {
  /** Null where the server does not tell it. */
  readonly id: string | null;
  /** What it got as its own input, as an answer of which those are the items: the codec reads it as it reads the response. */
  readonly input: JsonObject;
  readonly response: JsonObject;
  /** Those that the response tells, as this provider would ask with them. */
  readonly settings: Settings;
};

/** Responses that a server stores, each of which goes on from the one before. */
export type StoredChain = {
  /** Oldest first. */
  readonly responses: readonly StoredResponse[];
  /** What the first of them went on from and is not there; null where it went on from nothing. */
  readonly before: { readonly id: string; readonly reason: "not-found" | "conversation" | "too-many" } | null;
  /** Something in it was a secret and is masked: the server holds other bytes. */
  readonly isMasked?: boolean;
};

/** Objects at a server that requests add to. Every call may be made once more: what is gone stays gone. */
export interface ConversationObjects {
  /** Makes an empty one, and gives its id. */
  create(options: { readonly signal: AbortSignal }): Promise<string>;
  /** The ids of its newest items, the newest first. */
  newestItems(
    id: string,
    options: { readonly limit: number; readonly signal: AbortSignal },
  ): Promise<readonly string[]>;
  /** Takes an item out; one that is gone already is no failure. */
  deleteItem(id: string, itemId: string, options: { readonly signal: AbortSignal }): Promise<void>;
}
