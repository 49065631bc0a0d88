import type { IncomingMessage, ServerResponse } from "node:http";
import { addressOf, bodyOf, readBody } from "./arriving.ts";
import { checkAzureKey, checkAzureVersion, pathOf } from "./azure.ts";
import { isReplayable, type UnderWay } from "./background.ts";
import { byId, defaultDeltaLength, eventStream, replayed, wantsCiphertexts } from "./by-id.ts";
import { conversationRoute } from "./conversations.ts";
import { asJson, isCut, type Outgoing, refused } from "./delivery.ts";
import { type Exchange, finish, firstFault, nextFault, type Received } from "./exchange.ts";
import { corrupted, type Fault, withUnknownEnd } from "./faults.ts";
import { type Arrivals, forgetOldest } from "./forgetting.ts";
import { framesOf, streamText } from "./frames.ts";
import type { Front } from "./front.ts";
import type { Accepted, Inference } from "./inference.ts";
import type { HeldResponse, Memory } from "./memory.ts";
import type { Reading, ReferenceServerOptions } from "./options.ts";
import { badJson, noRoute, type Refusal, refusal, serverError } from "./refusals.ts";
import { responseBody, startedBody } from "./response-body.ts";
import { untidyEvents, untidyResponse, untidyStream } from "./responses-untidy.ts";
import type { Script } from "./script.ts";
import { serveFront } from "./serve-front.ts";
import { compact, countInput } from "./unanswered.ts";
import { untidyFor } from "./untidy.ts";
import { isObject, type JsonObject } from "./wire.ts";

/** What a server has received, and what waits for its next requests. */
interface Traffic {
  readonly requests: Received[];
  readonly arrivals: Arrivals;
  /** By request index and by response id. */
  readonly readings: Map<number | string, () => Reading>;
  readonly faults: (Fault | undefined)[];
  readonly underWay: UnderWay;
}

/** What is needed to handle a request. */
export interface Parts extends Traffic {
  readonly memory: Memory;
  readonly inference: Inference;
  readonly script: Script;
  /** The other dialects of the server. */
  readonly fronts: readonly Front[];
  readonly options: ReferenceServerOptions;
}

/** Answers one HTTP request, even if handling it fails. */
export async function handle(parts: Parts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const bodyText = await readBody(request, parts.options.maxBodyBytes ?? 512 * 2 ** 20);
  const received = arrived(parts, request, { bodyText: bodyText ?? "" });
  const exchange = { received, response };
  try {
    if (bodyText === undefined) await finish(exchange, refused(bodyTooLarge(parts, received)));
    else await route(parts, exchange);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    if (!response.headersSent) await finish(exchange, refused(serverError(text)));
  }
}

/** Records a request, or a frame on a socket. */
export function arrived(
  parts: Parts,
  { method = "", url = "", headers }: IncomingMessage,
  { bodyText, socket }: { readonly bodyText: string; readonly socket?: number },
): Received {
  const { options, requests, arrivals } = parts;
  const received: Received = {
    // A frame counts as a POST over HTTP.
    ...{ index: arrivals.count, method: socket === undefined ? method : "POST", path: url, headers, bodyText, socket },
    body: bodyOf(bodyText),
    status: 0,
    ...{ responseId: undefined, cache: undefined },
    at: (options.now ?? Date.now)(),
    hasFaultFired: false,
  };
  requests.push(received);
  arrivals.count += 1;
  arrivals.bytes += bodyText.length;
  forgetOldest(parts);
  return received;
}

async function route(parts: Parts, exchange: Exchange): Promise<void> {
  const { received } = exchange;
  const url = addressOf(received.path);
  if (url === null) {
    await finish(exchange, refused(badPath(received)));
    return;
  }
  const { azure } = parts.options;
  const denied = azure === undefined ? undefined : (checkAzureKey(azure, received.headers) ?? checkAzureVersion(url));
  if (denied !== undefined) {
    await finish(exchange, refused(denied));
    return;
  }
  url.pathname = pathOf(azure, url);
  const front = frontAt(parts, { method: received.method, path: url.pathname });
  if (front !== undefined) {
    await serveFront(parts, exchange, { front, url });
    return;
  }
  if (received.method === "POST" && url.pathname === "/v1/responses") {
    await create(parts, exchange);
    return;
  }
  const isConversation = /^\/v1\/conversations(\/|$)/.test(url.pathname);
  if (isConversation && parts.options.hasConversations !== false) {
    await converse(parts, exchange, url);
    return;
  }
  const isResumed = received.method === "GET" && url.searchParams.get("stream") === "true";
  const fault = isResumed ? nextFault(parts, received) : undefined;
  const asked = received.method === "POST" ? questions.get(url.pathname) : undefined;
  if (asked !== undefined) {
    await finish(exchange, isObject(received.body) ? asked(parts, received.body) : refused(badJson()));
    return;
  }
  const isById = /^\/v1\/responses\/[^/]+(\/(input_items|cancel))?$/.test(url.pathname);
  await finish(exchange, isById ? byId(parts, received, url) : refused(noRoute(received)), fault);
}

/** Questions about a request that is not made. */
const questions: ReadonlyMap<string, (parts: Parts, body: JsonObject) => Outgoing> = new Map([
  ["/v1/responses/input_tokens", countInput],
  ["/v1/responses/compact", compact],
]);

/** Creates, changes or returns a conversation object. */
async function converse(parts: Parts, exchange: Exchange, url: URL): Promise<void> {
  const { memory, inference, options } = parts;
  const { received } = exchange;
  // Injected faults are for requests for answers.
  const { fault, isAnswered } = await firstFault({ faults: [], options }, exchange);
  if (isAnswered) return;
  const now = (options.now ?? Date.now)();
  await finish(exchange, conversationRoute({ memory, locked: inference.locked, now }, received, url), fault);
}

async function create(parts: Parts, exchange: Exchange): Promise<void> {
  const { inference } = parts;
  const { received } = exchange;
  const { fault, isAnswered } = await firstFault(parts, exchange);
  if (isAnswered) return;
  const { body } = received;
  const accepted = isObject(body) ? inference.accept(body, fault) : { refusal: badJson() };
  if ("refusal" in accepted) {
    await finish(exchange, refused(accepted.refusal));
    return;
  }
  parts.readings.set(received.index, accepted.reading);
  try {
    await infer(parts, exchange, { accepted, fault });
  } finally {
    inference.release(accepted);
  }
}

async function infer(
  parts: Parts,
  exchange: Exchange,
  { accepted, fault }: { readonly accepted: Accepted; readonly fault: Fault | undefined },
): Promise<void> {
  const { received } = exchange;
  const isAside = accepted.body["background"] === true;
  if (isAside && fault?.kind !== "stream-error" && fault?.kind !== "corrupt") {
    await inferAside(parts, exchange, { accepted, fault });
    return;
  }
  const held = await parts.inference.respond(accepted, received.index, { fault });
  received.responseId = held.head.id;
  received.cache = held.cache;
  parts.readings.set(held.head.id, accepted.reading);
  const outgoing = outgoingOf(held, fault, parts);
  // A background response continues without a client.
  const isLost = !held.isBackground && isCut(fault, Buffer.byteLength(outgoing.text)) && fault.isActed !== true;
  if (!isLost && fault?.kind !== "stream-error") parts.inference.commit(held);
  forgetOldest(parts);
  await finish(exchange, outgoing, fault);
}

/** Answers immediately that the response is queued, and makes it meanwhile; a stream continues once it is made. */
async function inferAside(
  parts: Parts,
  exchange: Exchange,
  { accepted, fault }: { readonly accepted: Accepted; readonly fault: Fault | undefined },
): Promise<void> {
  const { received } = exchange;
  const { inference, readings, underWay } = parts;
  const queued = inference.queue(accepted);
  const { id } = queued.head;
  const waiting = Promise.withResolvers<HeldResponse>();
  underWay.set(id, waiting);
  forgetOldest(parts);
  if (fault?.kind === "unstored") queued.isStored = false;
  received.responseId = queued.head.id;
  readings.set(queued.head.id, accepted.reading);
  const made = inference.respond(accepted, received.index, { fault, queued }).catch((error: unknown) => {
    const told = { code: "server_error", message: error instanceof Error ? error.message : String(error) };
    return { ...queued, head: { ...queued.head, status: "failed", error: told } };
  });
  const committed = made.then((held) => {
    inference.commit(held);
    received.cache = held.cache;
    underWay.delete(id);
    waiting.resolve(held);
  });
  const isStreamed = isReplayable(queued);
  const outgoing = isStreamed
    ? replayed(parts, queued, { startingAfter: -1, withCiphertexts: wantsCiphertexts(queued.head.body, parts.options) })
    : asJson(200, startedBody(queued.head, "queued"));
  await finish(exchange, outgoing, fault);
  await committed;
}

function outgoingOf(
  held: HeldResponse,
  fault: Fault | undefined,
  parts: Pick<Parts, "memory" | "options">,
): Outgoing & { readonly text: string } {
  const { head } = held;
  // Clients fetch a background response again by the numbers of its events, so it stays tidy.
  const untidy = held.isBackground ? undefined : untidyFor(parts.options.untidy, head.id);
  if (head.body["stream"] === true) {
    const events = eventsOf(held, fault, parts);
    const text = untidy === undefined ? streamText(events) : untidyStream(untidy, untidyEvents(untidy, events));
    const isUnknown = fault?.kind === "unknown-end";
    return { status: 200, contentType: eventStream, text: isUnknown ? withUnknownEnd(text) : text };
  }
  if (fault?.kind === "stream-error") return asJson(400, { error: fault.error });
  const output = delivered(held, fault, parts);
  if (held.isBackground) return asJson(200, startedBody(head, "queued"));
  const body = responseBody(head, output);
  const outgoing = asJson(200, untidy === undefined ? body : untidyResponse(untidy, body));
  return fault?.kind === "unknown-end" ? { ...outgoing, text: withUnknownEnd(outgoing.text) } : outgoing;
}

/** The events of a response, as a stream has them. */
export function eventsOf(
  held: HeldResponse,
  fault: Fault | undefined,
  parts: Pick<Parts, "memory" | "options">,
): readonly JsonObject[] {
  const { head, isBackground: isQueued } = held;
  const items = (): readonly JsonObject[] => delivered(held, fault, parts);
  return framesOf({
    started: startedBody(head, isQueued ? "queued" : "in_progress"),
    finished: responseBody(head, items()),
    items,
    deltaLength: parts.options.deltaLength ?? defaultDeltaLength,
    isQueued,
    error: fault?.kind === "stream-error" ? fault : undefined,
  });
}

function delivered(
  { head, output }: HeldResponse,
  fault: Fault | undefined,
  { memory, options }: Pick<Parts, "memory" | "options">,
): readonly JsonObject[] {
  return memory.deliver(fault?.kind === "corrupt" ? corrupted(output) : output, wantsCiphertexts(head.body, options));
}

function bodyTooLarge(parts: Parts, { method, path }: Received): Refusal {
  const url = addressOf(path);
  const front = url === null ? undefined : frontAt(parts, { method, path: url.pathname });
  return front?.tooLarge?.() ?? refusal("Request body too large.", { status: 413 });
}

const frontAt = (
  { fronts }: Pick<Parts, "fronts">,
  { method, path }: { readonly method: string; readonly path: string },
): Front | undefined => fronts.find((each) => each.takes(method, path));

function badPath({ method, path }: Received): Refusal {
  return refusal(`Invalid URL (${method} ${path}): the path cannot be read`);
}
