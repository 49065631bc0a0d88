import { isJsonList, isJsonObject, type JsonObject } from "../base/json.ts";
import { ProviderError } from "../engine/stack/provider.ts";
import { createDeadline, type Deadline } from "./deadline.ts";
import type { Endpoint, HttpClient } from "./openai-http.ts";
import { readObject } from "./read-answer.ts";
import { fillSecrets, type Secrets } from "./secrets.ts";

/** How one call to an endpoint is made. */
export type CallOptions = { readonly signal?: AbortSignal | undefined };

/** Which of the items that a response got as its own input, as the endpoint lists them: newest first, 20 a page, when absent. */
export type InputItemsOptions = CallOptions & {
  readonly limit?: number | undefined;
  readonly order?: "asc" | "desc" | undefined;
  /** Ids of items: the page begins after the one, or ends before the other. */
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly include?: readonly string[] | undefined;
};

/** A page of input items; `lastId` is what the next one comes after. */
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
  inputItems(responseId: string, options?: InputItemsOptions): Promise<InputItemsPage>;
  /** How many tokens a request's input would have, by the server's count; the model is the provider's when none is given. */
  countInputTokens(request: JsonObject, options?: CallOptions): Promise<number>;
  /** The compacted window of a context, as it came: its `output` is the input of a new chain. */
  compact(request: JsonObject, options?: CallOptions): Promise<JsonObject>;
};

/** What the endpoints are called with. */
type Calling = {
  readonly client: HttpClient;
  readonly endpoint: Pick<Endpoint, "limits" | "timeoutMs">;
  readonly model: JsonObject["model"];
  readonly secrets: Secrets;
};

export function responsesEndpoints({ client, endpoint, model, secrets }: Calling): ResponsesEndpoints {
  const { limits, timeoutMs } = endpoint;

  async function call(
    request: { readonly method: "get" | "post" | "delete"; readonly path: string; readonly body?: JsonObject },
    { signal = new AbortController().signal }: CallOptions,
    read: (answer: Response, deadline: Deadline) => Promise<JsonObject> = (answer, deadline) =>
      readObject(answer, { limits, deadline }),
  ): Promise<JsonObject> {
    using deadline = createDeadline(signal, timeoutMs);
    const { method, path, body } = request;
    const bodyText = body === undefined ? {} : { bodyText: fillSecrets(JSON.stringify(body), body, secrets) };
    const answer = await client.send({ method, path, ...bodyText, accept: "application/json", deadline });
    return await read(answer, deadline);
  }

  return {
    retrieve: (responseId, { include, ...options } = {}) =>
      call(
        { method: "get", path: responsePath(responseId) + queryOf(includes({ include: [...(include ?? [])] })) },
        options,
      ),

    async delete(responseId, options = {}) {
      // Some servers answer with nothing.
      await call({ method: "delete", path: responsePath(responseId) }, options, async (answer) => {
        await answer.body?.cancel();
        return {};
      });
    },

    async inputItems(responseId, { signal, include = [], ...asked } = {}) {
      const given = Object.entries(asked).flatMap(([name, value]) =>
        value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
      );
      const path = `${responsePath(responseId)}/input_items${queryOf([...given, ...includes({ include: [...include] })])}`;
      return pageOf(await call({ method: "get", path }, { signal }));
    },

    async countInputTokens(request, options = {}) {
      const body = { ...(model === undefined ? {} : { model }), ...request };
      const answer = await call({ method: "post", path: "/responses/input_tokens", body }, options);
      const { input_tokens: tokens } = answer;
      if (typeof tokens === "number") return tokens;
      throw notRead("number of input tokens", answer);
    },

    compact: (request, options = {}) => {
      const body = { ...(model === undefined ? {} : { model }), ...request };
      return call({ method: "post", path: "/responses/compact", body }, options);
    },
  };
}

export const responsePath = (responseId: string): string => `/responses/${encodeURIComponent(responseId)}`;

/** A retrieve has to ask anew for what a request included. */
export function includes({ include }: JsonObject): readonly string[] {
  const names = isJsonList(include) ? include.filter((name) => typeof name === "string") : [];
  return names.map((name) => `include[]=${encodeURIComponent(name)}`);
}

export const queryOf = (parts: readonly string[]): string => (parts.length === 0 ? "" : `?${parts.join("&")}`);

function pageOf(answer: JsonObject): InputItemsPage {
  const { data, first_id: first, last_id: last, has_more: hasMore } = answer;
  if (!isJsonList(data)) throw notRead("list of input items", answer);
  const items = data.filter(isJsonObject);
  const idOf = (given: unknown, item: JsonObject | undefined): string | null =>
    typeof given === "string" ? given : typeof item?.["id"] === "string" ? item["id"] : null;
  return { items, firstId: idOf(first, items[0]), lastId: idOf(last, items.at(-1)), hasMore: hasMore === true };
}

const notRead = (what: string, body: JsonObject): ProviderError =>
  new ProviderError(`the provider answered with no ${what}`, {
    ...{ kind: "unknown", outcome: "unknown", body },
  });
