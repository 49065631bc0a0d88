import { listConversations } from "../../analysis/lists/list.ts";
import { type FoundRequest, findRequest, type RequestPlace } from "../../analysis/time-travel/find-request.ts";
import { readWatchedPlace } from "../../analysis/time-travel/place.ts";
import { counted } from "../../base/counted.ts";
import type { Conversation } from "../../conversation/conversation.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { isHidden, labelsAfter } from "../../domain/decider/labels.ts";
import {
  type ConversationId,
  conversationIdSchema,
  conversationOfStream,
  conversationStream,
} from "../../domain/ids.ts";
import type { Follower } from "../../log/aggregate/fold.ts";
import { isErased } from "../../log/codec/erased.ts";
import { tryToRead } from "../../log/codec/recorded.ts";
import { lastAtOf, parentOf } from "../../log/history/parent.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import { skippedOf } from "../../log/snapshots/open.ts";
import type { FoundPlace } from "../documents/found-place.ts";
import { NotFoundError, UsageError } from "./exit-codes.ts";
import { lastRevision, lastWritten, parsePlace, type RevisionName } from "./revision.ts";

/** The maximum number of candidates to list for an ambiguous name. */
const maxCandidates = 5;

/**
 * Finds a conversation by `@last`, its id, or the beginning of its id.
 *
 * @throws {NotFoundError} if there is none.
 * @throws {UsageError} if there are several, or the text is not a name, or contains a revision.
 */
export async function findConversation(store: TurnlogStore, text: string): Promise<Conversation> {
  const { conversation: name, at } = parsePlace(text);
  if (at.type !== "none")
    throw new UsageError(`expected a conversation, got a revision: write ${name} instead of '${text}'`);
  if (name === lastWritten) {
    const newest = await newestConversation(store);
    if (newest === null) throw new NotFoundError("the store holds no conversations yet");
    return store.conversation(newest);
  }
  // A full id needs no list, for which some stores read their whole log.
  const whole = conversationIdSchema.safeParse(name);
  if (whole.success && (await store.events.head(conversationStream(whole.data))) !== null) {
    return store.conversation(whole.data);
  }
  const found: ConversationId[] = [];
  for await (const id of store.conversations()) {
    if (id.startsWith(name) || id.startsWith(`cnv_${name}`)) found.push(id);
  }
  const only = onlyOne(found, { name, what: "conversation" });
  if (only === null) throw new NotFoundError(`there is no conversation '${name}': \`turnlog ls\` lists them`);
  return store.conversation(only);
}

/**
 * The id that begins with a text; null if there is none.
 *
 * @throws {UsageError} if there are several.
 */
export function onlyOne<Id extends string>(
  found: readonly Id[],
  { name, what }: { readonly name: string; readonly what: string },
): Id | null {
  const [only = null] = found;
  if (found.length <= 1) return only;
  const listed = found.slice(0, maxCandidates).join(", ");
  const more = found.length > maxCandidates ? ` and ${found.length - maxCandidates} more` : "";
  throw new UsageError(`'${name}' is the beginning of ${counted(found.length, what)}: ${listed}${more}`);
}

/** Finds the ids of several conversations. */
export async function findConversations(store: TurnlogStore, names: readonly string[]): Promise<ConversationId[]> {
  const found = [];
  for (const name of names) found.push((await findConversation(store, name)).id);
  return found;
}

/**
 * A new conversation, with the given id or a random one.
 *
 * @throws {UsageError} if the text is not a valid id, or the conversation exists.
 */
export async function newConversation(store: TurnlogStore, id: string | undefined): Promise<Conversation> {
  const conversation = store.conversation(...(id === undefined ? [] : [newConversationId(id)]));
  if ((await conversation.head()) === null) return conversation;
  throw new UsageError(`the conversation ${conversation.id} already exists: choose another --id`);
}

/**
 * Parses the id of a new conversation.
 *
 * @throws {UsageError} if it is not a valid id.
 */
export function newConversationId(text: string): ConversationId {
  const id = conversationIdSchema.safeParse(text);
  if (!id.success) throw new UsageError(`'${text}' cannot be an id: ${id.error.issues[0]?.message}`);
  return id.data;
}

/** The conversation that was written last; if a store would read its whole log for that, the first one that `ls` lists. */
async function newestConversation({ events }: TurnlogStore): Promise<ConversationId | null> {
  const stream = await events.newestStream?.("conversation-");
  if (stream === null) return null;
  // Hiding or erasing a conversation does not count as writing for @last.
  if (stream !== undefined && !(await isTakenAway(events, stream))) {
    const id = conversationOfStream(stream);
    return id === null ? null : newestOf(events, id);
  }
  const { conversations } = await listConversations(events, { limit: 1 });
  if (conversations[0] !== undefined) return conversations[0].id;
  return (await listConversations(events, { limit: 1, withHidden: true })).conversations[0]?.id ?? null;
}

/** A conversation, or an ancestor that was written later: a copy writes ancestors first. */
async function newestOf(events: EventStore, first: ConversationId): Promise<ConversationId> {
  let newest = { id: first, at: (await lastAtOf(events, first)) ?? "" };
  const seen = new Set<ConversationId>();
  for (let id: ConversationId | null = first; id !== null && !seen.has(id); ) {
    seen.add(id);
    id = await parentOf(events, conversationStream(id));
    const at = id === null ? null : await lastAtOf(events, id);
    if (id !== null && at !== null && at > newest.at) newest = { id, at };
  }
  return newest.id;
}

/** Whether the newest event of a stream hid the conversation, or records its erasure. */
async function isTakenAway(events: EventStore, stream: string): Promise<boolean> {
  for await (const envelope of events.readStream(stream, { direction: "backwards", limit: 1 })) {
    if (isErased(envelope)) return true;
    if (envelope.type !== "ConversationRelabelled") return false;
    const recorded = await tryToRead(events, envelope);
    return (
      !(recorded instanceof Error) &&
      recorded.event.type === "ConversationRelabelled" &&
      isHidden(labelsAfter({}, recorded.event))
    );
  }
  return false;
}

/**
 * The number of a revision.
 *
 * @throws {NotFoundError} if it does not exist.
 */
export async function findRevision(
  store: TurnlogStore,
  conversation: Conversation,
  name: RevisionName,
): Promise<number> {
  if (name.type === "response") return findResponse(conversation, name.prefix);
  const head = await store.events.head(conversationStream(conversation.id));
  const last = head?.revision ?? -1;
  const revision = name.revision < 0 ? last + 1 + name.revision : name.revision;
  if (revision >= 0 && revision <= last) return revision;
  throw new NotFoundError(
    `there is no revision ${name.revision} of ${conversation.id}: it has the revisions 0 to ${last}`,
  );
}

async function findResponse(conversation: Conversation, prefix: string): Promise<number> {
  const found = new Map<string, number>();
  for await (const { event, revision } of conversation.events()) {
    const isAnswer = event.type === "ResponseReceived" || event.type === "WarmUpAnswered";
    const id = isAnswer ? event.data.responseId : null;
    if (id === prefix) return revision;
    if (id?.startsWith(prefix) === true) found.set(id, revision);
  }
  const only = found.get(onlyOne([...found.keys()], { name: prefix, what: "response" }) ?? "");
  if (only === undefined) throw new NotFoundError(`no response of ${conversation.id} has the id '${prefix}'`);
  return only;
}

/** A revision of a conversation, found but not loaded. */
export type FoundRevision = { readonly conversation: Conversation; readonly revision: number };

/**
 * Finds the conversation and revision of a place; without a revision, the newest.
 *
 * @throws {UsageError} if it is a range, or not a place.
 * @throws {NotFoundError} if either does not exist.
 */
export async function findPlace(store: TurnlogStore, text: string): Promise<FoundRevision> {
  const { conversation: name, at } = parsePlace(text);
  if (at.type === "range") throw new UsageError(`expected one revision, got the range '${text}'`);
  const conversation = await findConversation(store, name);
  const revision = await findRevision(store, conversation, at.type === "none" ? lastRevision : at.revision);
  return { conversation, revision };
}

/** Makes a command's follower of the events that are read; called again if the reading starts again. */
type Follow = (own: string) => Follower;

/** Finds and loads a place; reads its events once. */
export async function openPlace(store: TurnlogStore, text: string, follow?: Follow): Promise<FoundPlace> {
  const { conversation, revision } = await findPlace(store, text);
  const own = conversationStream(conversation.id);
  const read = await readWatchedPlace(store.log, own, revision, follow && (() => follow(own)));
  return { conversation, ...read };
}

/**
 * Finds the request of a place; without a revision, the last one of the conversation.
 *
 * @throws {TurnlogError} `request-not-found` if there is no request at or before it.
 */
export async function findRecordedRequest(
  store: TurnlogStore,
  text: string,
  options: Pick<RequestPlace, "codecs" | "orBefore" | "follow">,
): Promise<{
  readonly conversation: Conversation;
  readonly request: FoundRequest;
  readonly skipped: RequestPlace["skipped"];
}> {
  const { conversation, revision } = await findPlace(store, text);
  const isNamed = parsePlace(text).at.type !== "none";
  const place = { stream: conversationStream(conversation.id), revision: isNamed ? revision : null };
  const skipped = await skippedOf(store.log, place.stream);
  return { conversation, skipped, request: await findRequest(store.log, { ...place, ...options, skipped }) };
}
