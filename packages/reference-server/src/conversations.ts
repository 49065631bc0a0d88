import { asksForCiphertexts } from "./by-id.ts";
import { extend } from "./contexts.ts";
import { asJson, type Outgoing, refused } from "./delivery.ts";
import { itemAsListed, pageOf } from "./input-items.ts";
import { checkItems, nameOfType } from "./item-schema.ts";
import type { ConversationObject, Memory } from "./memory.ts";
import type { ReceivedRequest } from "./options.ts";
import { answeredBy, type Call, callOf, resultOf } from "./pairs.ts";
import {
  conversationItemNotFound,
  conversationLocked,
  conversationNotFound,
  duplicateItem,
  invalidType,
  missingParameter,
  noRoute,
  orphanOutput,
  type Refusal,
  tooManyItems,
} from "./refusals.ts";
import { isArray, isObject, type JsonObject, objectsOf, stringOf } from "./wire.ts";

/** The state for answering a request to `/conversations`. */
interface Asked {
  readonly memory: Memory;
  /** Ids of objects with a response in progress. */
  readonly locked: ReadonlySet<string>;
  /** Milliseconds. */
  readonly now: number;
}

export const emptyConversation = (id: string, createdAt = 0, metadata: JsonObject = {}): ConversationObject => ({
  ...{ id, createdAt, metadata, items: [], added: 0, isCut: false, context: undefined },
});

/** Adds the items of a response to its conversation, together, each with an id. */
export function addItems(
  object: ConversationObject,
  items: readonly JsonObject[],
  asyncTools?: ReadonlySet<string>,
): readonly JsonObject[] {
  const listed = items.map((item, index) => itemAsListed(item, `${object.id}:${object.added + index}`));
  object.added += items.length;
  object.items = [...object.items, ...listed];
  object.context = extend(object.context, listed, asyncTools);
  return listed;
}

/**
 * Why nothing can be added to a conversation with deleted items. The behaviour of a real server is not documented; this one rejects
 * a result without its call.
 */
export function brokenPair({ items, isCut }: ConversationObject): Refusal | undefined {
  const open: Call[] = [];
  for (const item of isCut ? items : []) {
    const result = resultOf(item);
    const at = result === undefined ? 0 : answeredBy(result, open);
    if (result !== undefined && at < 0) return orphanOutput(result.label, result.callId ?? "");
    if (result !== undefined) open.splice(at, 1);
    const call = callOf(item);
    if (call !== undefined) open.push(call);
  }
  return undefined;
}

/** Answers a request to `/conversations` and paths below it. */
export function conversationRoute(asked: Asked, received: Pick<ReceivedRequest, "method" | "path" | "body">, url: URL) {
  const [, , , encodedId = "", part = "", encodedItem = "", ...rest] = url.pathname.split("/");
  const [id, item] = [decodeURIComponent(encodedId), decodeURIComponent(encodedItem)];
  const { method } = received;
  const body = isObject(received.body) ? received.body : {};
  if (id === "" && method === "POST") return createObject(asked, body);
  const object = asked.memory.conversations.get(id);
  if (id === "" || rest.length > 0 || (part !== "" && part !== "items")) return refused(noRoute(received));
  if (object === undefined) return refused(conversationNotFound(id));
  if (part === "items") return itemRoute(asked, { object, item, method, body, query: url.searchParams }, received);
  switch (method) {
    case "GET":
      return asJson(200, shown(object));
    case "POST":
      if (!isObject(body["metadata"])) return refused(missingParameter("metadata"));
      object.metadata = body["metadata"];
      return asJson(200, shown(object));
    case "DELETE":
      asked.memory.conversations.delete(id);
      return asJson(200, { id, object: "conversation.deleted", deleted: true });
    default:
      return refused(noRoute(received));
  }
}

const maxItems = 20;

function createObject({ memory, now }: Asked, body: JsonObject): Outgoing {
  const { items = [], metadata } = body;
  const wrong = itemsProblem(items ?? [], undefined);
  if (wrong !== undefined) return refused(wrong);
  const id = memory.nextId("conv");
  const object = emptyConversation(id, Math.floor(now / 1000), isObject(metadata) ? metadata : {});
  addItems(object, objectsOf(items));
  memory.conversations.set(id, object);
  return asJson(200, shown(object));
}

function itemsProblem(items: JsonObject[string], object: ConversationObject | undefined): Refusal | undefined {
  if (!isArray(items)) return invalidType("items", "an array", nameOfType(items));
  if (items.length > maxItems) return tooManyItems(maxItems, items.length);
  const wrong = checkItems(items);
  if (wrong !== undefined) return wrong;
  const known = new Set(object?.items.map((item) => stringOf(item["id"])));
  const twice = objectsOf(items).find((item) => item["id"] !== undefined && known.has(stringOf(item["id"])));
  return twice === undefined ? undefined : duplicateItem(stringOf(twice["id"]) ?? "");
}

interface AskedItem {
  readonly object: ConversationObject;
  /** Empty for the list itself. */
  readonly item: string;
  readonly method: string;
  readonly body: JsonObject;
  readonly query: URLSearchParams;
}

function itemRoute(
  { memory, locked }: Asked,
  { object, item, method, body, query }: AskedItem,
  received: Pick<ReceivedRequest, "method" | "path">,
): Outgoing {
  const known = object.items.find(({ id }) => id === item);
  if (item !== "" && known === undefined) return refused(conversationItemNotFound(item, object.id));
  if (method !== "GET" && locked.has(object.id)) return refused(conversationLocked());
  switch (`${method} ${item === "" ? "list" : "item"}`) {
    case "GET list":
      return pageOf(memory.deliver(object.items, asksForCiphertexts(query)), query);
    case "POST list": {
      const items = body["items"] ?? null;
      if (items === null) return refused(missingParameter("items"));
      const wrong = itemsProblem(items, object);
      if (wrong !== undefined) return refused(wrong);
      const data = addItems(object, objectsOf(items));
      const [first, last] = [data[0]?.["id"] ?? null, data.at(-1)?.["id"] ?? null];
      return asJson(200, { object: "list", data, first_id: first, has_more: false, last_id: last });
    }
    case "GET item":
      return asJson(200, known ?? {});
    case "DELETE item":
      object.items = object.items.filter((each) => each !== known);
      object.isCut = true;
      object.context = extend(undefined, object.items);
      return asJson(200, shown(object));
    default:
      return refused(noRoute(received));
  }
}

const shown = ({ id, createdAt, metadata }: ConversationObject): JsonObject => ({
  ...{ id, object: "conversation", created_at: createdAt, metadata },
});
