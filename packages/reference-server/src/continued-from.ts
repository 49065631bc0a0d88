import type { Link } from "./contexts.ts";
import { brokenPair } from "./conversations.ts";
import type { Fault } from "./faults.ts";
import { isKept } from "./keeping.ts";
import type { Memory } from "./memory.ts";
import type { ReferenceServerOptions } from "./options.ts";
import {
  conversationLocked,
  conversationNotFound,
  previousNotFound,
  previousNotFoundVllm,
  type Refusal,
  unsupportedPreviousDetail,
  unsupportedPreviousLlama,
  zeroDataRetention,
} from "./refusals.ts";
import { isObject, type JsonObject, stringOf } from "./wire.ts";

/** The context from which the server continues, and its source. */
interface Continued {
  readonly parent: Link | undefined;
  readonly previousResponseId: string | null;
  readonly conversationId: string | null;
}

/** What a request continues from: a response, a conversation object, or nothing. */
export function continuedFrom(
  body: JsonObject,
  by: {
    readonly memory: Memory;
    readonly options: ReferenceServerOptions;
    readonly fault: Fault | undefined;
    readonly locked: ReadonlySet<string>;
    /** Ids that the request's connection remembers, whether or not they are stored. */
    readonly cached: ReadonlySet<string> | undefined;
  },
): Continued | { readonly refusal: Refusal } {
  const none = { parent: undefined, previousResponseId: null, conversationId: null };
  const conversation = body["conversation"];
  const conversationId = stringOf(isObject(conversation) ? conversation["id"] : conversation);
  if (conversationId !== undefined) {
    const { conversations } = by.memory;
    const object = by.options.hasConversations === false ? undefined : conversations.get(conversationId);
    if (object === undefined) return { refusal: conversationNotFound(conversationId) };
    if (by.locked.has(conversationId)) return { refusal: conversationLocked() };
    const broken = brokenPair(object);
    if (broken !== undefined) return { refusal: broken };
    return { ...none, parent: object.context, conversationId };
  }
  const id = stringOf(body["previous_response_id"]);
  if (id === undefined || by.options.noChain === "ignored" || by.fault?.kind === "ignore-previous") return none;
  const refused = chainRefusal(id, by);
  if (refused !== undefined) return { refusal: refused };
  return { parent: by.memory.responses.get(id)?.context, previousResponseId: id, conversationId: null };
}

function chainRefusal(
  id: string,
  {
    memory,
    options,
    cached,
  }: {
    readonly memory: Memory;
    readonly options: ReferenceServerOptions;
    readonly cached: ReadonlySet<string> | undefined;
  },
): Refusal | undefined {
  if (options.noChain === "http-detail") return unsupportedPreviousDetail();
  if (options.noChain === "llama.cpp") return unsupportedPreviousLlama();
  if (options.zdr === true && cached === undefined) return zeroDataRetention();
  const held = memory.responses.get(id);
  const status = held?.head.status;
  // A failed response cannot be a parent. For an incomplete one, no source is certain.
  const isDone = status === "completed" || (status === "incomplete" && options.chainsFromIncomplete !== false);
  const isCached = cached?.has(id) === true;
  if (isDone && (isCached || (options.zdr !== true && isKept(held, (options.now ?? Date.now)())))) return undefined;
  return options.notFound === "vllm" ? previousNotFoundVllm(id) : previousNotFound(id);
}
