import { isReplayable, replay, type UnderWay } from "./background.ts";
import { asJson, type Outgoing, refused } from "./delivery.ts";
import { earlierItems, ownItems, pageOf } from "./input-items.ts";
import { isKept } from "./keeping.ts";
import type { HeldResponse, Memory } from "./memory.ts";
import type { ReceivedRequest, ReferenceServerOptions } from "./options.ts";
import { badStartingAfter, noRoute, notBackground, responseNotFound } from "./refusals.ts";
import { responseBody, startedBody } from "./response-body.ts";
import { isArray, type Json, type JsonObject } from "./wire.ts";

/** The stored responses, and those in progress. */
export interface Held {
  readonly memory: Memory;
  readonly underWay: UnderWay;
  readonly options: ReferenceServerOptions;
}

/** Answers requests about a response by its id. */
export function byId(parts: Held, received: Pick<ReceivedRequest, "method" | "path">, url: URL): Outgoing {
  const { memory } = parts;
  const [, , , encodedId = "", action = ""] = url.pathname.split("/");
  const id = decodeURIComponent(encodedId);
  const held = memory.responses.get(id);
  const now = (parts.options.now ?? Date.now)();
  if (!isKept(held, now)) return refused(responseNotFound(id));
  const { searchParams: query } = url;
  switch (`${received.method} ${action}`) {
    case "GET ": {
      if (query.get("stream") === "true") return resumed(parts, held, query);
      return asJson(200, retrieve(parts, id, asksForCiphertexts(query)) ?? {});
    }
    case "DELETE ":
      memory.forget(id);
      return asJson(200, { id, object: "response", deleted: true });
    case "GET input_items":
      return pageOf(
        [...(parts.options.listsAncestors === true ? earlierItems(held, memory) : []), ...ownItems(held)],
        query,
      );
    case "POST cancel":
      return held.isBackground ? asJson(200, cancelled(parts, held)) : refused(notBackground());
    default:
      return refused(noRoute(received));
  }
}

/** The response as a retrieve returns it. */
export function retrieve(
  { memory, options }: Pick<Held, "memory" | "options">,
  responseId: string,
  withCiphertexts = false,
): JsonObject | undefined {
  const held = memory.responses.get(responseId);
  if (held === undefined) return undefined;
  if (held.head.status === "queued") return startedBody(held.head, "in_progress");
  const isAsked = withCiphertexts || wantsCiphertexts(held.head.body, options);
  return responseBody(held.head, memory.deliver(held.output, isAsked));
}

/** Cancels a response in progress; a completed one does not change. */
function cancelled(parts: Held, held: HeldResponse): JsonObject {
  const { head } = held;
  if (head.status === "queued") {
    const ended = { ...held, head: { ...head, status: "cancelled" } };
    parts.memory.responses.set(head.id, ended);
    parts.underWay.get(head.id)?.resolve(ended);
  }
  return retrieve(parts, head.id) ?? {};
}

/** The stream of a response, from where its client lost it. */
function resumed(parts: Held, held: HeldResponse, query: URLSearchParams): Outgoing {
  const after = query.get("starting_after");
  const startingAfter = after === null ? -1 : Number(after);
  if (!Number.isInteger(startingAfter)) return refused(badStartingAfter(after ?? ""));
  // Only a background stream outlasts its connection.
  if (!isReplayable(held)) return refused(responseNotFound(held.head.id));
  const withCiphertexts = asksForCiphertexts(query) || wantsCiphertexts(held.head.body, parts.options);
  return replayed(parts, held, { startingAfter, withCiphertexts });
}

/** The content of such a response's stream. */
export function replayed(
  { memory, underWay, options: { deltaLength = defaultDeltaLength } }: Held,
  held: HeldResponse,
  from: { readonly startingAfter: number; readonly withCiphertexts: boolean },
): Outgoing {
  const text = replay(held, { memory, underWay, deltaLength, ...from });
  return { status: 200, contentType: eventStream, text };
}

export const eventStream = "text/event-stream; charset=utf-8";
export const defaultDeltaLength = 24;

/** Whether a response has ciphertexts: if the request asked for them, or always. */
export function wantsCiphertexts(body: JsonObject, options: ReferenceServerOptions): boolean {
  const include = body["include"];
  return options.encryptsAlways === true || (isArray(include) && includesCiphertexts(include));
}

/** The same for a request with a query. */
export const asksForCiphertexts = (query: URLSearchParams): boolean =>
  includesCiphertexts([...query.getAll("include"), ...query.getAll("include[]")]);

function includesCiphertexts(include: readonly Json[]): boolean {
  return include.includes("reasoning.encrypted_content");
}
