import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createAiSdkFront } from "./ai-sdk/front.ts";
import { retrieve } from "./by-id.ts";
import { createChatFront } from "./chat/chat-front.ts";
import { createClaudeCliFront } from "./claude-cli/cli-front.ts";
import { extend, itemsOf } from "./contexts.ts";
import { emptyConversation } from "./conversations.ts";
import type { Fault } from "./faults.ts";
import { createGoogleFront } from "./google/google-front.ts";
import { createInteractionsFront } from "./google/interactions-front.ts";
import { createInference } from "./inference.ts";
import { createMemory, type HeldResponse, type Memory } from "./memory.ts";
import { createMessagesFront } from "./messages/messages-front.ts";
import { createOllamaFront } from "./ollama/ollama-front.ts";
import { checkServerOptions, type Reading, type ReceivedRequest, type ReferenceServerOptions } from "./options.ts";
import { handle, type Parts } from "./routes.ts";
import { createScript } from "./script.ts";
import { type ServerSockets, serveSockets } from "./web-socket.ts";
import { isObject, type JsonObject, objectsOf, stringOf } from "./wire.ts";

export * from "./answers.ts";
export type { AzureOptions } from "./azure.ts";
export type { CacheFacts, CacheFront, CacheOptions, PrefixSetting, PromptPart } from "./cache/facts.ts";
export type { CacheReason, CacheVerdict } from "./cache/verdict.ts";
export { type ChatServerDialect, chatServerDialects } from "./chat/dialects.ts";
export { claudeCliStandIn } from "./claude-cli/stand-in-command.ts";
export { type ErrorRow, errorRow, errorRows } from "./error-rows.ts";
export { cannedError, type Fault } from "./faults.ts";
export { type Expected, expectedReading, type Judgement, type JudgeOptions, judge } from "./judge.ts";
export type {
  AnswerInput,
  DialectOptions,
  Reading,
  ReceivedRequest,
  ReferenceServerOptions,
  SocketOptions,
} from "./options.ts";
export { type LineFields, lineOf, type ReadingSettings, readItems } from "./readings.ts";
export type { ServerSockets } from "./web-socket.ts";
export type { Json, JsonObject } from "./wire.ts";

/** A running server, and everything that a test may ask about it. */
export interface ReferenceServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** With `/v1`, as clients expect it. */
  readonly baseUrl: string;
  /** The received requests, including rejected ones; the oldest are dropped (`maxKept`). */
  readonly requests: readonly ReceivedRequest[];
  /** What the model read for that response, or for the request with that index. Undefined if there was no inference. */
  reading(of: string | number): Reading | undefined;
  /** Input and output of the response's whole context, verbatim. */
  context(responseId: string): readonly JsonObject[] | undefined;
  /** The response as a retrieve returns it. */
  response(responseId: string): JsonObject | undefined;
  /** The ids of all responses, usable or not, oldest first. */
  responseIds(): readonly string[];
  /** The faults of the next requests, one each; `undefined` skips one. Resumed streams count; other retrieves and deletes do not. */
  inject(...faults: readonly (Fault | undefined)[]): void;
  /** Expires a response: its ids are unknown from now on. */
  forget(responseId: string): void;
  /** Stores a response of a real server here, with its own ids. */
  adopt(response: JsonObject, input: readonly JsonObject[]): void;
  /** The items of a conversation object, as in a listing; undefined if the id is unknown. */
  conversation(conversationId: string): readonly JsonObject[] | undefined;
  /** Creates an empty conversation object with this id. */
  adoptConversation(conversationId: string): void;
  /** Its WebSockets: how many are open, and their faults. */
  readonly sockets: ServerSockets;
  /** Forgets everything, including requests. Ids continue; request numbers start again. */
  clear(): void;
}

/**
 * Starts a Responses API server on the loopback interface that keeps state and rejects what the real one rejects. It also speaks
 * Chat Completions, at `/v1/chat/completions`, with answers from the same script.
 */
export async function startReferenceServer(options: ReferenceServerOptions = {}): Promise<ReferenceServer> {
  checkServerOptions(options);
  const seed = options.seed ?? randomUUID();
  const memory = createMemory(seed, options);
  const script = createScript(options);
  const inference = createInference(memory, options, script);
  const fronts = createFronts.map((create) => create({ ...options, seed }));
  const arrivals = { count: 0, bytes: 0 };
  const traffic = { requests: [], arrivals, readings: new Map(), faults: [], underWay: new Map() };
  const parts: Parts = { memory, inference, script, fronts, options, ...traffic };
  // Keeps idle connections open, because a busy client may return to one late.
  const http = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    // The client may disconnect during an upload.
    handle(parts, request, response).catch(() => response.destroy());
  });
  const sockets = serveSockets(http, parts);
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const address = http.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    baseUrl: `${url}/v1`,
    requests: parts.requests,
    sockets,
    ...inspection(parts),
    inject: (...faults) => void parts.faults.push(...faults),
    forget: (responseId) => {
      memory.forget(responseId);
      for (const front of fronts) front.forget?.(responseId);
    },
    adopt: (response, input) => {
      inference.commit(adopted(memory, response, input));
    },
    adoptConversation: (conversationId) =>
      void memory.conversations.set(conversationId, emptyConversation(conversationId)),
    clear() {
      const { responses, conversations, issued, bindings, compacted, prompts } = memory;
      prompts.clear();
      for (const map of [responses, conversations, issued, bindings, compacted, parts.readings, parts.underWay])
        map.clear();
      for (const list of [parts.requests, parts.faults]) list.length = 0;
      Object.assign(arrivals, { count: 0, bytes: 0 });
      inference.clear();
      script.clear();
      for (const front of fronts) front.clear();
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        http.close(() => {
          resolve();
        });
        sockets.end();
        http.closeAllConnections();
      }),
  };
}

const createFronts = [
  ...[createChatFront, createOllamaFront, createAiSdkFront, createGoogleFront, createMessagesFront],
  ...[createInteractionsFront, createClaudeCliFront],
];

function inspection(
  parts: Parts,
): Pick<ReferenceServer, "reading" | "context" | "response" | "responseIds" | "conversation"> {
  const { responses } = parts.memory;
  return {
    reading: (of) => parts.readings.get(of)?.(),
    context(responseId) {
      const held = responses.get(responseId);
      return held === undefined ? undefined : itemsOf(held.context);
    },
    conversation: (conversationId) => parts.memory.conversations.get(conversationId)?.items,
    response: (responseId) => retrieve(parts, responseId),
    responseIds: () => [...responses.keys()],
  };
}

const foreground = { isStored: true, isBackground: false, goneAt: Number.POSITIVE_INFINITY };

function adopted(memory: Memory, response: JsonObject, input: readonly JsonObject[]): HeldResponse {
  const previous = memory.responses.get(stringOf(response["previous_response_id"]) ?? "");
  const conversation = response["conversation"];
  const conversationId = isObject(conversation) ? (stringOf(conversation["id"]) ?? null) : null;
  const before = extend(
    conversationId === null ? previous?.context : memory.conversations.get(conversationId)?.context,
    input,
  );
  const output = objectsOf(response["output"]);
  const foreign = output.map((item) => ({ item, isEncrypted: false }));
  memory.issue(foreign, true);
  const head = {
    id: stringOf(response["id"]) ?? memory.nextId("resp"),
    body: response,
    model: stringOf(response["model"]) ?? "",
    createdAt: Number(response["created_at"] ?? 0),
    completedAt: Number(response["completed_at"] ?? 0),
    status: stringOf(response["status"]) ?? "completed",
    previousResponseId: previous?.head.id ?? null,
    conversationId,
    isStored: true,
    error: null,
    incompleteDetails: null,
    usage: isObject(response["usage"]) ? response["usage"] : {},
    transformations: [],
  };
  return { head, input, output, before, context: extend(before, output), ...foreground };
}
