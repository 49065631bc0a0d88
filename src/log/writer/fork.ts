import type { ConversationOrigin } from "../../domain/events/conversation-events.ts";
import type { ConversationId } from "../../domain/ids.ts";
import { conversationStream } from "../../domain/ids.ts";
import type { EventLog } from "../codec/event-log.ts";
import { existingRevision } from "../history/revision.ts";
import { envelopeAt } from "../ports/event-store.ts";
import { foldTo } from "../snapshots/open.ts";

/**
 * What a fork at a revision says of where it came from. The parent is folded up to there first: of a damaged one nothing
 * goes on.
 *
 * @throws {TurnlogError} `revision-not-found` when there is no such revision, or no such conversation.
 * @throws {ConversationDamagedError} when the parent is damaged up to there.
 */
export async function forkOrigin(log: EventLog, parent: ConversationId, revision: number): Promise<ConversationOrigin> {
  const stream = conversationStream(parent);
  const at = await existingRevision(log.store, stream, revision);
  const { last } = await foldTo(log, stream, at);
  // An event that was skipped is not folded, and stands there all the same.
  const digest = (await envelopeAt(log.store, stream, at))?.digest ?? last.digest;
  return { type: "fork", conversationId: parent, revision: at, digest };
}
