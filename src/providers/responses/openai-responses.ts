import { type JsonObject, jsonOf, objectOf } from "../../base/json.ts";
import type { InferenceRequest, InferenceResponse, Provider, WaitOptions } from "../../engine/ports/provider.ts";
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
import { createSender } from "../http/http-sender.ts";
import { readAnswer } from "../http/read-answer.ts";
import { maskedProvider } from "../secrets/masked-provider.ts";
import { checkSecrets } from "../secrets/secret-values.ts";
import { capabilitiesOf } from "../settings/capabilities.ts";
import { followToEnd, idUnderWay, idUnfinished, isBrokenOff } from "./background.ts";
import { cacheCapabilities } from "./cache-members.ts";
import { conversationObjects } from "./conversation-objects.ts";
import { settingsOf } from "./provider-settings.ts";
import { responseForm, tellItems } from "./response-answers.ts";
import { ResponseStream } from "./response-stream.ts";
import { responsesCodec } from "./responses-codec.ts";
import { includes, queryOf, responsePath, responsesEndpoints } from "./responses-endpoints.ts";
import type { OpenaiResponses, OpenaiResponsesOptions } from "./responses-options.ts";
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
