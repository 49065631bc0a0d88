import type { Conversation } from "../conversation/conversation.ts";
import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import { type ConversationId, conversationIdSchema, conversationOfStream, conversationStream } from "../domain/ids.ts";
import { comparePositions } from "../log/ports/event-store.ts";
import { conversationList } from "../projections/conversation-list.ts";
import type { ProjectedView } from "../read-models/live-views.ts";
import { NotFoundError, UsageError } from "./exit-codes.ts";
import { caughtUp } from "./read-models.ts";
import { lastWritten, parsePlace, type RevisionName } from "./revision.ts";

/** How many candidates an ambiguous name lists. */
const maxCandidates = 5;

/**
 * The conversation that a text stands for: `@last`, an id, or the beginning of one.
 *
 * @throws {NotFoundError} when there is none.
 * @throws {UsageError} when there are several, and for a text that names nothing, or a revision.
 */
export async function findConversation(store: TurnlogStore, text: string): Promise<Conversation> {
  const { conversation: name, at } = parsePlace(text);
  if (at.type !== "none")
    throw new UsageError(`expected a conversation, got a revision: write ${name} in place of '${text}'`);
  if (name === lastWritten) {
    const newest = await newestConversation(store);
    if (newest === null) throw new NotFoundError("the store holds no conversation yet");
    return store.conversation(newest);
  }
  // A whole id needs no list, which some stores read their whole log for.
  const whole = conversationIdSchema.safeParse(name);
  if (whole.success && (await store.events.head(conversationStream(whole.data))) !== null) {
    return store.conversation(whole.data);
  }
  const found: ConversationId[] = [];
  for await (const id of store.conversations()) {
    if (id.startsWith(name) || id.startsWith(`cnv_${name}`)) found.push(id);
  }
  const [only] = found;
  if (only === undefined) throw new NotFoundError(`there is no conversation '${name}': \`turnlog ls\` lists them`);
  if (found.length === 1) return store.conversation(only);
  const listed = found.slice(0, maxCandidates).join(", ");
  const more = found.length > maxCandidates ? ` and ${found.length - maxCandidates} more` : "";
  throw new UsageError(`'${name}' is the beginning of ${found.length} conversations: ${listed}${more}`);
}

/** The ids of all of these. */
export async function findConversations(store: TurnlogStore, names: readonly string[]): Promise<ConversationId[]> {
  const found = [];
  for (const name of names) found.push((await findConversation(store, name)).id);
  return found;
}

/**
 * The id that a new conversation is to have.
 *
 * @throws {UsageError} for a text that cannot be one.
 */
export function newConversationId(text: string): ConversationId {
  const id = conversationIdSchema.safeParse(text);
  if (!id.success) throw new UsageError(`'${text}' cannot be an id: ${id.error.issues[0]?.message}`);
  return id.data;
}

/** The conversation that was written last; of a store that would read its whole log for it, the first that `ls` lists. */
async function newestConversation({ events }: TurnlogStore): Promise<ConversationId | null> {
  const stream = await events.newestStream?.("conversation-");
  if (stream !== undefined) return stream === null ? null : conversationOfStream(stream);
  let newest: ProjectedView<unknown> | null = null;
  for await (const row of (await caughtUp(events, conversationList)).readAll()) {
    if (newest === null || comparePositions(row.position, newest.position) > 0) newest = row;
  }
  return newest === null ? null : conversationOfStream(newest.key);
}

/**
 * The number of a revision.
 *
 * @throws {NotFoundError} when it is not there.
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
    const id = event.type === "ResponseReceived" ? event.data.responseId : null;
    if (id === prefix) return revision;
    if (id?.startsWith(prefix) === true) found.set(id, revision);
  }
  const [only] = found.values();
  if (only === undefined) throw new NotFoundError(`no response of ${conversation.id} has the id '${prefix}'`);
  if (found.size === 1) return only;
  const listed = [...found.keys()].slice(0, maxCandidates).join(", ");
  throw new UsageError(`'${prefix}' is the beginning of ${found.size} responses: ${listed}`);
}
