import { blockToJson } from "../domain/block-json.ts";
import type { ProposedEvent } from "../domain/events/recorded.ts";
import type { Turn } from "../domain/turn.ts";

/**
 * Keeps a Turn that might have been as a conversation of its own: its blocks, by import. No server holds what it says, so
 * nothing is continued from; the first request of it sends everything.
 *
 * @throws {ConversationExistsError} when `conversation` came from somewhere else.
 */
export async function saveCounterfactual(
  conversation: { readonly commit: (entries: readonly ProposedEvent[]) => Promise<unknown> },
  turn: Turn,
  source: string,
): Promise<void> {
  const actor = { kind: "import" } as const;
  await conversation.commit([
    { event: { type: "ConversationStarted", version: 1, data: { origin: { type: "import", source } } }, actor },
    ...turn.blocks.map(
      (block): ProposedEvent => ({
        event: { type: "BlockAppended", version: 1, data: { block: blockToJson(block) } },
        actor,
      }),
    ),
  ]);
}
