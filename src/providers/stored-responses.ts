import type { JsonObject } from "../base/json.ts";

/** How one call to an endpoint is made. */
export type CallOptions = { readonly signal?: AbortSignal | undefined };

/** Which of the items that a response got as its own input, or that a conversation object holds, as the endpoint lists them: newest first, 20 a page, when absent. */
export type InputItemsOptions = CallOptions & {
  readonly limit?: number | undefined;
  readonly order?: "asc" | "desc" | undefined;
  /** Ids of items: the page begins after the one, or ends before the other. */
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly include?: readonly string[] | undefined;
};

/** A page of items; `lastId` is what the next one comes after. */
export type InputItemsPage = {
  readonly items: readonly JsonObject[];
  readonly firstId: string | null;
  readonly lastId: string | null;
  readonly hasMore: boolean;
};

/**
 * What an endpoint says of responses that it keeps, and of requests that are not made. None of it is recorded: a conversation has
 * `deleteStored` and `importStored` for what its log is to know of. Each call throws a `ProviderError` where it is refused.
 */
export type ResponsesEndpoints = {
  /** The response as the server holds it now, one that failed too. `include` asks for what it leaves out, as a request does. */
  retrieve(
    responseId: string,
    options?: CallOptions & { readonly include?: readonly string[] | undefined },
  ): Promise<JsonObject>;
  /** Has the server forget a response. A conversation that goes on from it learns that when it is refused. */
  delete(responseId: string, options?: CallOptions): Promise<void>;
  /** Has the server forget a conversation object, after each of the items that it holds: deleted alone it leaves them behind. */
  deleteConversation(objectId: string, options?: CallOptions): Promise<void>;
  inputItems(responseId: string, options?: InputItemsOptions): Promise<InputItemsPage>;
  /** The items that a conversation object holds now. */
  conversationItems(objectId: string, options?: InputItemsOptions): Promise<InputItemsPage>;
  /** How many tokens a request's input would have, by the server's count; the model is the provider's when none is given. */
  countInputTokens(request: JsonObject, options?: CallOptions): Promise<number>;
  /** The compacted window of a context, as it came: its `output` is the input of a new chain. */
  compact(request: JsonObject, options?: CallOptions): Promise<JsonObject>;
};
