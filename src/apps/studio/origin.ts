import type { ConversationOrigin } from "../../domain/events/conversation-events.ts";
import type { OverviewDocument } from "./page-documents.ts";

/** The conversation that another one began from. */
export function parentOf(origin: ConversationOrigin | null): OverviewDocument["parent"] {
  if (origin?.type === "fork") return { conversation: origin.conversationId, revision: origin.revision };
  return origin?.type === "child" ? { conversation: origin.conversationId, revision: null } : null;
}
