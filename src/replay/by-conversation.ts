import { checkedConversationId, conversationStream } from "../domain/ids.ts";
import type { Engine } from "../engine/stack/engine.ts";
import type { EventReader } from "../log/codec/event-log.ts";
import { type FoldReplay, type FoldReplayOptions, replayFolds as replayStream } from "./fold-replay.ts";
import { type ReexecuteOptions, type Reexecution, reexecute as reexecuteStream } from "./re-execute.ts";

/**
 * Folds a conversation again, plans every request again, and compares: `difference` is null where all is as it was recorded.
 *
 * @param conversation - Its id.
 * @throws {TurnlogError} `revision-not-found` when there is no such conversation, or revision.
 * @throws {TurnlogError} `unknown-codec` when another provider's codec encoded a request: give it among `codecs`.
 */
export async function replayFolds(
  reader: EventReader,
  conversation: string,
  options: FoldReplayOptions,
): Promise<FoldReplay> {
  return replayStream(reader, conversationStream(checkedConversationId(conversation)), options);
}

/**
 * Executes today's layers against the log of a conversation, and compares what they do with what they did.
 *
 * @param conversation - Its id.
 * @throws {TurnlogError} `revision-not-found` when there is no such conversation, or revision.
 */
export async function reexecute<Context>(
  reader: EventReader,
  conversation: string,
  engine: Engine<Context, unknown>,
  options: ReexecuteOptions<Context> = {},
): Promise<Reexecution> {
  return reexecuteStream(reader, conversationStream(checkedConversationId(conversation)), engine, options);
}
