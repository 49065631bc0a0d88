import { isJsonObject, type JsonObject, jsonOf, listOf, objectOf, objectsOf } from "../../base/json.ts";
import type { Settings } from "../../engine/ports/codec.ts";
import type { InferenceRequest, InferenceResponse, Provider, WaitOptions } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import type { ConversationObjects } from "../../engine/ports/stored-responses.ts";
import { requestIdOf } from "../failures/classify-error.ts";
import { createDeadline, type Deadline } from "../http/deadline.ts";
import {
  credentialsOf,
  type Endpoint,
  endpointOf,
  type KeyHeader,
  openaiPlace,
  type ServerPlace,
  scopeOf,
} from "../http/endpoint.ts";
import { createSender, type HttpSender } from "../http/http-sender.ts";
import { readAnswer, readObject } from "../http/read-answer.ts";
import { isCredentialName } from "../secrets/credentials.ts";
import { maskedProvider } from "../secrets/masked-provider.ts";
import { checkSecrets } from "../secrets/secret-values.ts";
import type { AnswerLimits } from "../settings/answer-limits.ts";
import { capabilitiesOf } from "../settings/capabilities.ts";
import { checkedSettings, type OptionWords } from "../settings/checked-settings.ts";
import { connectionOptions } from "../settings/connection-options.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import { followToEnd, idUnderWay, idUnfinished, isBrokenOff } from "./background.ts";
import { cacheCapabilities, withoutOff } from "./cache-members.ts";
import { ownMembers } from "./request-body.ts";
import { responseForm, tellItems } from "./response-answers.ts";
import { ResponseStream } from "./response-stream.ts";
import { responsesCodec } from "./responses-codec.ts";
import { includes, isItemGone, objectPath, queryOf, responsePath, responsesEndpoints } from "./responses-endpoints.ts";
import { type OpenaiResponses, type OpenaiResponsesOptions, settingOptions } from "./responses-options.ts";
import { SocketPool, type SocketTiming } from "./socket-pool.ts";
import { readStoredChain, readStoredConversation } from "./stored-chain.ts";

/**
 * A model behind the Responses API: OpenAI's, or a compatible server at `baseURL`. Only the engine repeats a request that may have been
 * acted on.
 *
 * @throws {ProviderSettingsError} if there is no API key, or a setting cannot be sent.
 */
export const openaiResponses = (options: OpenaiResponsesOptions): OpenaiResponses =>
  responsesProvider(options, { where: "openaiResponses", keyHeader: "authorization" });

/** The function that the caller called, and the header that its endpoint expects the key in. */
type ResponsesMaker = {
  readonly where: string;
  readonly keyHeader: KeyHeader;
  readonly place?: ServerPlace;
  readonly timing?: SocketTiming;
};

/** @internal The same, for endpoints that expect their key in another header. */
export function responsesProvider(
  options: OpenaiResponsesOptions,
  { where, keyHeader, place = openaiPlace, timing }: ResponsesMaker,
): OpenaiResponses {
  const settings = settingsOf(options, where);
  const { secrets = {} } = options;
  checkSecrets(settings, secrets);
  const endpoint = endpointOf(options, keyHeader, place);
  const sender = createSender(endpoint);
  const { limits } = endpoint;
  const sockets = options.transport === "websocket" ? new SocketPool(endpoint, timing) : null;

  async function infer(request: InferenceRequest): Promise<InferenceResponse> {
    const { bodyText, transport, onDelta } = request;
    using deadline = createDeadline(request.signal, endpoint.timeoutMs);
    if (transport === "websocket" && sockets !== null) return await sockets.infer(request, { bodyText, deadline });
    const accept = transport === "sse" ? "text/event-stream" : "application/json";
    const answer = await sender.send({ method: "POST", path: "/responses", bodyText, accept, deadline });
    const requestId = requestIdOf(answer.headers);
    const stream = new ResponseStream(onDelta, limits.itemBytes);
    const begun = new Set<string>();
    const begin = async (id: string | null, response: JsonObject): Promise<void> => {
      if (id === null || begun.has(id)) return;
      begun.add(id);
      const { cursor } = stream;
      await request.onStarted?.(id, { response, ...(cursor === null ? {} : { cursor }) });
    };
    const onUnderWay = (response: JsonObject): Promise<void> => begin(idUnderWay(response), response);
    try {
      const response = await readAnswer(answer, {
        limits,
        deadline,
        onDelta,
        onUnderWay,
        stream,
        form: responseForm,
      });
      // A stream's first response is unfinished too; here the answer ended and the response is still unfinished.
      await begin(idUnfinished(response), response);
      if (idUnfinished(response) === null) return { response, requestId };
    } catch (error) {
      // The server continues without a listener.
      if (begun.size === 0 || !isBrokenOff(error, deadline)) throw error;
    }
    const body = jsonOf(request.bodyText);
    const [id = ""] = begun;
    const response = await follow(id, stream, { asked: objectOf(body), deadline });
    if (transport === "json") tellItems(response, onDelta);
    return { response, requestId };
  }

  async function waitFor(responseId: string, options: WaitOptions): Promise<InferenceResponse> {
    const { signal, settings: asked, onDelta = () => undefined, cursor } = options;
    using deadline = createDeadline(signal, endpoint.timeoutMs);
    const stream = new ResponseStream(onDelta, limits.itemBytes, cursor ?? null);
    const response = await follow(responseId, stream, { asked, deadline });
    if (cursor === undefined) tellItems(response, onDelta);
    return { response };
  }

  /** Waits for a background response to finish. */
  function follow(
    responseId: string,
    stream: ResponseStream,
    { asked, deadline }: { readonly asked: JsonObject; readonly deadline: Deadline },
  ): Promise<JsonObject> {
    const get = async (accept: string, query: readonly string[]): Promise<JsonObject> => {
      const path = responsePath(responseId) + queryOf([...query, ...includes(asked)]);
      const answer = await sender.send({ method: "GET", path, accept, deadline });
      return readAnswer(answer, { limits, deadline, onDelta: () => undefined, stream, form: responseForm });
    };
    return followToEnd(stream, {
      fetch: () => get("application/json", []),
      readOn: (cursor) => get("text/event-stream", ["stream=true", `starting_after=${cursor}`]),
      deadline,
    });
  }

  async function cancel(responseId: string, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    using deadline = createDeadline(signal, endpoint.timeoutMs);
    const path = `${responsePath(responseId)}/cancel`;
    const answer = await sender.send({ method: "POST", path, accept: "application/json", deadline });
    await answer.body?.cancel();
  }

  const asked = capabilitiesOf(options.capabilities);
  const endpoints = responsesEndpoints({ sender, endpoint, model: settings["model"], secrets });
  const provider: OpenaiResponses = {
    name: "openai-responses",
    scope: scopeOf(endpoint, responsesCodec.family, options.credentialsOwner),
    codec: responsesCodec,
    ...asked,
    capabilities: { ...asked.capabilities, ...cacheCapabilities(settings) },
    transport: options.transport ?? "sse",
    settings,
    systemAs: options.systemAs ?? "input",
    timeoutMs: endpoint.timeoutMs,
    ...(sockets === null ? {} : overSockets(sockets, endpoint)),
    infer,
    waitFor,
    cancel,
    ...endpoints,
    storedChain: (...given) => readStoredChain({ ...endpoints, settings }, ...given),
    storedConversation: (id, options) =>
      readStoredConversation((listing) => endpoints.conversationItems(id, listing), options),
    // Without `store`, a response cannot belong to a conversation object.
    ...(settings["store"] === false ? {} : { conversations: conversationObjects({ sender, ...endpoint }) }),
  };
  return maskedProvider(provider, credentialsOf(options, endpoint, place), () => secrets);
}

const overSockets = (sockets: SocketPool, { timeoutMs }: Endpoint): Partial<Provider> => ({
  fallbackTransport: "sse",
  connection: (conversation, { lanes }) => sockets.connection(conversation, { hasLanes: lanes === true }),
  async connect(conversation, { capabilities: { lanes }, signal }) {
    using deadline = createDeadline(signal, timeoutMs);
    await sockets.connect(conversation, { hasLanes: lanes === true, deadline });
  },
  warmUpDetails: { generate: false },
  [Symbol.asyncDispose]: () => sockets[Symbol.asyncDispose](),
});

type Calls = { readonly sender: HttpSender; readonly limits: AnswerLimits; readonly timeoutMs: number };

/** The conversation objects of the Responses API (its reference, under Conversations). */
function conversationObjects({ sender, limits, timeoutMs }: Calls): ConversationObjects {
  const call = async (
    request: { readonly method: "GET" | "POST" | "DELETE"; readonly path: string; readonly bodyText?: string },
    signal: AbortSignal,
  ): Promise<JsonObject> => {
    using deadline: Deadline = createDeadline(signal, timeoutMs);
    const answer = await sender.send({ ...request, accept: "application/json", deadline });
    return await readObject(answer, { limits, deadline });
  };
  return {
    async create({ signal }) {
      const { id } = await call({ method: "POST", path: "/conversations", bodyText: "{}" }, signal);
      if (typeof id === "string") return id;
      const told = { kind: "provider-failed", outcome: "unknown" } as const;
      throw new ProviderError("the server made a conversation without returning its id", told);
    },
    async newestItems(id, { limit, signal }) {
      const { data } = await call({ method: "GET", path: `${objectPath(id)}/items?order=desc&limit=${limit}` }, signal);
      const items = objectsOf(data);
      return items.flatMap((item) => (typeof item["id"] === "string" ? [item["id"]] : []));
    },
    async deleteItem(id, itemId, { signal }) {
      try {
        await call({ method: "DELETE", path: `${objectPath(id)}/items/${encodeURIComponent(itemId)}` }, signal);
      } catch (error) {
        if (!isItemGone(error)) throw error;
      }
    },
  };
}

/**
 * The request settings among the options of the Responses API.
 *
 * @throws {ProviderSettingsError} if an option is unknown or not JSON, a setting would let the server decide the context, or a credential
 * of an MCP tool would be recorded.
 */
function settingsOf(options: OpenaiResponsesOptions, provider: string): Settings {
  const settings = withoutOff(checkedSettings(options, { ...words, provider }));
  checkDiagnostics(settings);
  checkCredentials(settings);
  if (options.transport === "websocket") checkFrame(settings);
  return settings;
}

/** The id is another for each request. */
function checkDiagnostics({ cacheDiagnostics, prompt_cache_options: options }: Settings): void {
  if (cacheDiagnostics === true && objectOf(options)["comparison_response_id"] !== undefined)
    throw new ProviderSettingsError(
      "prompt_cache_options.comparison_response_id cannot go with cacheDiagnostics, which fills it in for each request: leave one of them out",
    );
}

/** Names in other APIs. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "max_output_tokens"],
  ["max_completion_tokens", "max_output_tokens"],
  ["maxTokens", "max_output_tokens"],
  ["reasoning_effort", "effort"],
  ["reasoningEffort", "effort"],
  ["thinking", "reasoning"],
  ["response_format", "text"],
  ["system", "instructions"],
  ["functions", "tools"],
]);

const refusals: ReadonlyMap<string, string> = new Map([
  [
    "conversation",
    "the engine makes conversation objects itself: give createEngine mode 'conversation'; importConversation reads an existing one",
  ],
  ["prompt", "a stored prompt adds items that turnlog does not see; give instructions instead"],
]);

const words: OptionWords = {
  ...{ provider: "openaiResponses", connection: connectionOptions, settings: settingOptions },
  ...{ decided: ownMembers, refusals, otherNames },
  members: { reasoning: ["effort", "summary"], text: ["format", "verbosity"] },
};

/** Rejects members that a WebSocket frame sets itself, and those that work over HTTP only. */
function checkFrame(settings: JsonObject): void {
  const own = ["type", "stream_id", "generate"].find((name) => Object.hasOwn(settings, name));
  if (own !== undefined)
    throw new ProviderSettingsError(`extraBody.${own} is not a setting: every WebSocket frame has it`);
  if (settings["background"] === true)
    throw new ProviderSettingsError(
      'the setting background cannot go with transport "websocket": background responses need HTTP; give transport "sse"',
    );
}

/** The log records settings unchanged, so the fields that the API has for credentials must not hold any. */
function checkCredentials({ tools }: JsonObject): void {
  for (const [index, tool] of listOf(tools).entries()) {
    if (!isJsonObject(tool) || tool["type"] !== "mcp") continue;
    const headers = isJsonObject(tool["headers"]) ? Object.entries(tool["headers"]) : [];
    const open = [
      ...(typeof tool["authorization"] === "string" ? ["authorization"] : []),
      ...headers
        .filter(([name, value]) => typeof value === "string" && isCredentialName(name))
        .map(([name]) => `headers.${name}`),
    ];
    if (open.length === 0) continue;
    const text = `tools[${index}].${open.join(" and ")} would be recorded: write secret("NAME") instead, and give the value in secrets`;
    throw new ProviderSettingsError(text);
  }
}
