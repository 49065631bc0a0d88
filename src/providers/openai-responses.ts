import { isJsonList, isJsonObject, type JsonObject } from "../base/json.ts";
import { sha256Hex } from "../base/sha256.ts";
import {
  type Capabilities,
  type InferenceRequest,
  type InferenceResponse,
  type Provider,
  ProviderError,
  type WaitOptions,
} from "../engine/ports/provider.ts";
import { fetchEnded, idUnderWay } from "./background.ts";
import { defaultCapabilities } from "./capabilities.ts";
import { requestIdOf } from "./classify-error.ts";
import { createDeadline, type Deadline } from "./deadline.ts";
import { jsonOf } from "./json-text.ts";
import { createHttpClient, type Endpoint } from "./openai-http.ts";
import { ProviderSettingsError, settingsOf } from "./provider-settings.ts";
import { readAnswer, tellItems } from "./read-answer.ts";
import { responsesItems } from "./responses-items.ts";
import { checkSecrets, fillSecrets, maskMembers, type Secrets } from "./secrets.ts";

/** Where the model is and how it is asked; every other member is a setting of its requests, sent as it stands. */
export type OpenaiResponsesOptions = {
  readonly model: string;
  readonly instructions?: string | undefined;
  readonly tools?: readonly JsonObject[] | undefined;
  /** `OPENAI_API_KEY` when absent. */
  readonly apiKey?: string | undefined;
  /** `OPENAI_BASE_URL`, else OpenAI's own, when absent. Azure: `https://RESOURCE.openai.azure.com/openai/v1/`. */
  readonly baseURL?: string | undefined;
  readonly organization?: string | undefined;
  readonly project?: string | undefined;
  /** Names whose credentials they are in place of the key's own fingerprint, so that a new key keeps the chains. */
  readonly credentialsOwner?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly transport?: "json" | "sse" | undefined;
  /** What this endpoint can do other than OpenAI's own. */
  readonly capabilities?: Partial<Capabilities> | undefined;
  /** `instructions`: system blocks at the beginning go there, so that changing them changes no context. */
  readonly systemAs?: "input" | "instructions" | undefined;
  /** Values for the settings that are `secret("NAME")`: sent, and never recorded. */
  readonly secrets?: Secrets | undefined;
  /** For a whole answer, stream or background included; ten minutes when absent. */
  readonly timeoutMs?: number | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly [setting: string]: unknown;
};

/** A model behind the Responses API: OpenAI's, Azure's, or one that speaks like them. */
export type OpenaiResponses = Provider &
  Required<Pick<Provider, "waitFor" | "cancel">> & {
    /** The response as the server holds it. */
    retrieve(responseId: string, signal?: AbortSignal): Promise<JsonObject>;
    /** Has the server forget a response. */
    delete(responseId: string, signal?: AbortSignal): Promise<void>;
  };

/**
 * A provider on the official `openai` client, whose retries are off: a request that may have been acted on is repeated by
 * nobody but the engine.
 *
 * @throws {ProviderSettingsError} when there is no API key, or a setting cannot be sent.
 */
export function openaiResponses(options: OpenaiResponsesOptions): OpenaiResponses {
  const settings = settingsOf(options, notSettings);
  const endpoint = endpointOf(options);
  const client = createHttpClient(endpoint);
  const secrets = options.secrets ?? {};
  checkSecrets(settings, secrets);

  async function infer(request: InferenceRequest): Promise<InferenceResponse> {
    const { transport, onDelta } = request;
    const bodyText = fillSecrets(request.bodyText, secrets);
    using deadline = createDeadline(request.signal, endpoint.timeoutMs);
    const accept = transport === "sse" ? "text/event-stream" : "application/json";
    const answer = await client.send({ method: "post", path: "/responses", bodyText, accept, deadline });
    const requestId = requestIdOf(answer.headers);
    const begun = new Set<string>();
    const onUnderWay = async (response: JsonObject): Promise<void> => {
      const id = idUnderWay(response);
      if (id === null || begun.has(id)) return;
      begun.add(id);
      await request.onStarted?.(id);
    };
    try {
      const response = await readAnswer(answer, { client, deadline, onDelta, onUnderWay });
      await onUnderWay(response);
      if (idUnderWay(response) === null) return { response: maskMembers(response, secrets), requestId };
    } catch (error) {
      // The server goes on without whoever listens.
      if (begun.size === 0 || !isBrokenOff(error, deadline)) throw error;
    }
    const body = jsonOf(request.bodyText);
    const [id = ""] = begun;
    const response = await ended(id, isJsonObject(body) ? body : {}, deadline);
    if (transport === "json") tellItems(response, onDelta);
    return { response: maskMembers(response, secrets), requestId };
  }

  async function waitFor(responseId: string, { signal, settings: asked }: WaitOptions): Promise<InferenceResponse> {
    using deadline = createDeadline(signal, endpoint.timeoutMs);
    return { response: maskMembers(await ended(responseId, asked, deadline), secrets) };
  }

  function ended(responseId: string, asked: JsonObject, deadline: Deadline): Promise<JsonObject> {
    const path = pathOf(responseId) + includeQuery(asked);
    return fetchEnded(async () => {
      const answer = await client.send({ method: "get", path, accept: "application/json", deadline });
      return readAnswer(answer, { client, deadline, onDelta: () => undefined });
    }, deadline);
  }

  async function cancel(responseId: string, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    using deadline = createDeadline(signal, endpoint.timeoutMs);
    const path = `${pathOf(responseId)}/cancel`;
    const answer = await client.send({ method: "post", path, accept: "application/json", deadline });
    await answer.body?.cancel();
  }

  async function retrieve(responseId: string, signal = new AbortController().signal): Promise<JsonObject> {
    using deadline = createDeadline(signal, endpoint.timeoutMs);
    const answer = await client.send({ method: "get", path: pathOf(responseId), accept: "application/json", deadline });
    return await readAnswer(answer, { client, deadline, onDelta: () => undefined });
  }

  async function remove(responseId: string, signal = new AbortController().signal): Promise<void> {
    using deadline = createDeadline(signal, endpoint.timeoutMs);
    const answer = await client.send({ method: "delete", path: pathOf(responseId), accept: "*/*", deadline });
    await answer.body?.cancel();
  }

  return {
    name: "openai-responses",
    scope: scopeOf(endpoint, options.credentialsOwner),
    codec: responsesItems,
    capabilities: { ...defaultCapabilities, ...options.capabilities },
    transport: options.transport ?? "sse",
    settings,
    systemAs: options.systemAs ?? "input",
    timeoutMs: endpoint.timeoutMs,
    // Recorded answers of one server say `complete`.
    completedStatuses: ["completed", "complete"],
    infer,
    waitFor,
    cancel,
    retrieve,
    delete: remove,
  };
}

const notSettings: ReadonlySet<string> = new Set([
  "apiKey",
  "baseURL",
  "organization",
  "project",
  "credentialsOwner",
  "headers",
  "transport",
  "capabilities",
  "systemAs",
  "secrets",
  "timeoutMs",
  "fetch",
]);

/** The official client reads these variables too; they are read here because the scope has to name what they say. */
function endpointOf(options: OpenaiResponsesOptions): Endpoint {
  const apiKey = options.apiKey ?? process.env["OPENAI_API_KEY"];
  if (apiKey === undefined || apiKey === "") {
    throw new ProviderSettingsError("there is no API key: set OPENAI_API_KEY, or give apiKey");
  }
  const baseURL = options.baseURL ?? (process.env["OPENAI_BASE_URL"] || "https://api.openai.com/v1");
  if (!URL.canParse(baseURL)) throw new ProviderSettingsError(`the base URL is no URL: ${baseURL}`);
  return {
    apiKey,
    baseURL,
    organization: options.organization ?? (process.env["OPENAI_ORG_ID"] || null),
    project: options.project ?? (process.env["OPENAI_PROJECT_ID"] || null),
    headers: options.headers ?? {},
    timeoutMs: options.timeoutMs ?? 600_000,
    // Looked up at each request, so that whoever replaces the global one is heard.
    fetch: options.fetch ?? ((address, init) => globalThis.fetch(address, init)),
  };
}

/** What a response id and a ciphertext are good for (MODEL 2). A password in the address stays out of it. */
function scopeOf({ baseURL, organization, project, apiKey }: Endpoint, owner: string | undefined): string {
  const { origin, pathname, search } = new URL(baseURL);
  const parts = [
    `openai-responses ${origin}${pathname.replace(/\/+$/, "")}${search}`,
    `organization=${organization ?? ""}`,
    `project=${project ?? ""}`,
    `codec=${responsesItems.name}`,
    `owner=${owner ?? sha256Hex(apiKey).slice(0, 12)}`,
  ];
  return parts.join(" ");
}

const pathOf = (responseId: string): string => `/responses/${encodeURIComponent(responseId)}`;

/** A retrieve has to ask anew for what a request included. */
function includeQuery({ include }: JsonObject): string {
  const names = isJsonList(include) ? include.filter((name) => typeof name === "string") : [];
  const query = names.map((name) => `include[]=${encodeURIComponent(name)}`).join("&");
  return query === "" ? "" : `?${query}`;
}

const isBrokenOff = (error: unknown, { signal }: Deadline): boolean =>
  error instanceof ProviderError && ["stream-cut", "connection"].includes(error.kind) && !signal.aborted;
