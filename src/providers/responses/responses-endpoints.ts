import { isJsonList, isJsonObject, type JsonObject } from "../../base/json.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { createDeadline, type Deadline } from "../http/deadline.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { HttpSender } from "../http/http-sender.ts";
import { readObject } from "../http/read-answer.ts";
import { filledSettings } from "../secrets/secret-values.ts";
import type { Secrets } from "../settings/connection-options.ts";

/** Options of one call to an endpoint. */
export type CallOptions = { readonly signal?: AbortSignal | undefined };

/**
 * Selects a page of a response's input items, or of a conversation object's items, as the endpoint lists them: newest first, 20 a page by
 * default.
 */
export type InputItemsOptions = CallOptions & {
  readonly limit?: number | undefined;
  readonly order?: "asc" | "desc" | undefined;
  /** Ids of items: the page begins after `after`, or ends before `before`. */
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly include?: readonly string[] | undefined;
};

/** A page of items; pass `lastId` as `after` to get the next one. */
export type InputItemsPage = {
  readonly items: readonly JsonObject[];
  readonly firstId: string | null;
  readonly lastId: string | null;
  readonly hasMore: boolean;
};

/**
 * Calls for responses that an endpoint stores, and for requests outside a conversation. None of them is recorded; use a conversation's
 * `deleteStored` and `importStored` for what its log has to know. Each call throws a `ProviderError` if it is refused.
 */
export type ResponsesEndpoints = {
  /** The stored response in its current state, even if it failed. `include` adds optional members, as in a request. */
  retrieve(
    responseId: string,
    options?: CallOptions & { readonly include?: readonly string[] | undefined },
  ): Promise<JsonObject>;
  /** Deletes a stored response. A conversation that would continue from it learns that from the refusal. */
  delete(responseId: string, options?: CallOptions): Promise<void>;
  /** Deletes a conversation object after each of its items, because deleting only the object leaves them behind. */
  deleteConversation(objectId: string, options?: CallOptions): Promise<void>;
  inputItems(responseId: string, options?: InputItemsOptions): Promise<InputItemsPage>;
  /** The items that a conversation object holds now. */
  conversationItems(objectId: string, options?: InputItemsOptions): Promise<InputItemsPage>;
  /** The number of tokens in a request's input, counted by the server; the model is the provider's by default. */
  countInputTokens(request: JsonObject, options?: CallOptions): Promise<number>;
  /** The compacted window of a context, unchanged: its `output` is the input of a new chain. */
  compact(request: JsonObject, options?: CallOptions): Promise<JsonObject>;
};

/** What the endpoint calls need. */
type Calling = {
  readonly sender: HttpSender;
  readonly endpoint: Pick<Endpoint, "limits" | "timeoutMs">;
  readonly model: JsonObject["model"];
  readonly secrets: Secrets;
};

export function responsesEndpoints({ sender, endpoint, model, secrets }: Calling): ResponsesEndpoints {
  const { limits, timeoutMs } = endpoint;

  async function call(
    request: { readonly method: "GET" | "POST" | "DELETE"; readonly path: string; readonly body?: JsonObject },
    { signal = new AbortController().signal }: CallOptions,
    read: (answer: Response, deadline: Deadline) => Promise<JsonObject> = (answer, deadline) =>
      readObject(answer, { limits, deadline }),
  ): Promise<JsonObject> {
    using deadline = createDeadline(signal, timeoutMs);
    const { method, path, body } = request;
    const bodyText = body === undefined ? {} : { bodyText: JSON.stringify(filledSettings(body, secrets)) };
    const answer = await sender.send({ method, path, ...bodyText, accept: "application/json", deadline });
    return await read(answer, deadline);
  }

  async function page(path: string, { signal, include = [], ...asked }: InputItemsOptions): Promise<InputItemsPage> {
    const given = Object.entries(asked).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
    const query = queryOf([...given, ...includes({ include: [...include] })]);
    return pageOf(await call({ method: "GET", path: path + query }, { signal }));
  }

  async function remove(path: string, options: CallOptions): Promise<void> {
    // Some servers answer with an empty body.
    await call({ method: "DELETE", path }, options, async (answer) => {
      await answer.body?.cancel();
      return {};
    });
  }

  async function removeItem(path: string, options: CallOptions): Promise<void> {
    try {
      await remove(path, options);
    } catch (error) {
      if (!isItemGone(error)) throw error;
    }
  }

  return {
    retrieve: (responseId, { include, ...options } = {}) =>
      call(
        { method: "GET", path: responsePath(responseId) + queryOf(includes({ include: [...(include ?? [])] })) },
        options,
      ),

    delete: (responseId, options = {}) => remove(responsePath(responseId), options),

    async deleteConversation(objectId, options = {}) {
      const path = objectPath(objectId);
      for (let pages = 0; pages < maxPages; pages += 1) {
        const { items } = await page(`${path}/items`, { ...options, limit: 100 });
        const ids = items.flatMap(({ id }) => (typeof id === "string" ? [id] : []));
        if (ids.length === 0) break;
        for (const id of ids) await removeItem(`${path}/items/${encodeURIComponent(id)}`, options);
      }
      await remove(path, options);
    },

    inputItems: (responseId, options = {}) => page(`${responsePath(responseId)}/input_items`, options),

    conversationItems: (objectId, options = {}) => page(`${objectPath(objectId)}/items`, options),

    async countInputTokens(request, options = {}) {
      const body = { ...(model === undefined ? {} : { model }), ...request };
      const answer = await call({ method: "POST", path: "/responses/input_tokens", body }, options);
      const { input_tokens: tokens } = answer;
      if (typeof tokens === "number") return tokens;
      throw notRead("number of input tokens", answer);
    },

    compact: (request, options = {}) => {
      const body = { ...(model === undefined ? {} : { model }), ...request };
      return call({ method: "POST", path: "/responses/compact", body }, options);
    },
  };
}

/** The limit of item pages that are deleted with their object. */
const maxPages = 10_000;

/** A missing item counts as deleted; a missing object does not. */
export const isItemGone = (error: unknown): boolean =>
  error instanceof ProviderError && error.status === 404 && error.kind !== "conversation-not-found";

export const responsePath = (responseId: string): string => `/responses/${encodeURIComponent(responseId)}`;

export const objectPath = (objectId: string): string => `/conversations/${encodeURIComponent(objectId)}`;

/** Which members to ask for again: a retrieve does not repeat the request's `include`. */
export function includes({ include }: JsonObject): readonly string[] {
  const names = isJsonList(include) ? include.filter((name) => typeof name === "string") : [];
  return names.map((name) => `include[]=${encodeURIComponent(name)}`);
}

export const queryOf = (parts: readonly string[]): string => (parts.length === 0 ? "" : `?${parts.join("&")}`);

function pageOf(answer: JsonObject): InputItemsPage {
  const { data, first_id: first, last_id: last, has_more: hasMore } = answer;
  if (!isJsonList(data)) throw notRead("list of items", answer);
  const items = data.filter(isJsonObject);
  const idOf = (given: unknown, item: JsonObject | undefined): string | null =>
    typeof given === "string" ? given : typeof item?.["id"] === "string" ? item["id"] : null;
  return { items, firstId: idOf(first, items[0]), lastId: idOf(last, items.at(-1)), hasMore: hasMore === true };
}

const notRead = (what: string, body: JsonObject): ProviderError =>
  new ProviderError(`the provider answered without a ${what}`, {
    ...{ kind: "unknown", outcome: "unknown", body },
  });
