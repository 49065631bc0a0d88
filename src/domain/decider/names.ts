import { anchorName } from "../anchor.ts";
import type { ConversationEvent } from "../events/event.ts";

/** Names that an event gives for good: a second event with the same name is a repetition. */
export const namedByEvents = ["block", "run", "late", "imported", "deleted", "warm-up", "warmed", "decided"] as const;

/**
 * The kinds of things with names: an appended block, a run, a late tool result, an imported context, a response or conversation deleted
 * at a server, a warm-up and its end, a decision with a key.
 */
export type EventNameKind = (typeof namedByEvents)[number];

export type EventName = readonly [kind: EventNameKind, name: string];

/** The names that an event gives, or that `decide` asks about before it is recorded. */
export function namesIn(event: ConversationEvent, runId: string | null): readonly EventName[] {
  switch (event.type) {
    case "BlockAppended":
      return [["block", event.data.block.id]];
    case "RunStarted":
      return [["run", runId ?? ""]];
    case "ToolFinished":
      return event.data.late === true ? [["late", event.data.blockId]] : [];
    case "ApprovalDecided":
      return event.data.key === undefined ? [] : [["decided", event.data.key]];
    case "ContextImported":
      return [["imported", event.data.inferenceId]];
    case "ResponseDeleted":
      return [["deleted", deletedName(event.data)]];
    case "ServerConversationDeleted":
      return [["deleted", anchorName(event.data)]];
    case "WarmUpRequested":
      return [["warm-up", event.data.inferenceId]];
    case "WarmUpAnswered":
    case "WarmUpFailed":
      return [["warmed", event.data.inferenceId]];
    default:
      return [];
  }
}

/** A response is named by its scope and its id. */
const deletedName = ({ scope, responseId }: { readonly scope: string; readonly responseId: string }): string =>
  JSON.stringify([scope, responseId]);
