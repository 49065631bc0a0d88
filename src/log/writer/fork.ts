import type { ConversationOrigin } from "../../domain/events/conversation-events.ts";
import type { ConversationId } from "../../domain/ids.ts";
import { conversationStream } from "../../domain/ids.ts";
import type { EventLog } from "../codec/event-log.ts";
import { existingRevision } from "../history/revision.ts";
import { envelopeAt } from "../ports/event-store.ts";
import { foldUpTo } from "../snapshots/open.ts";

/**
 * The origin of a fork at a revision. The parent is folded up to there first: a damaged parent cannot be forked.
 *
 * @throws {TurnlogError} `revision-not-found` if there is no such revision, or no such conversation.
 * @throws {ConversationDamagedError} if the parent is damaged up to there.
 */
export async function forkOrigin(log: EventLog, parent: ConversationId, revision: number): Promise<ConversationOrigin> {
  const stream = conversationStream(parent);
  const at = await existingRevision(log.store, stream, revision);
  await foldUpTo(log, stream, at);
  // An event that was skipped is not folded, and its envelope is there all the same.
  const there = await envelopeAt(log.store, stream, at);
  if (there === null) throw new Error(`${stream} no longer has revision ${at}`);
  return { type: "fork", conversationId: parent, revision: at, digest: there.digest };
}
