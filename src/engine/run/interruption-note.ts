import { Block } from "../../domain/block.ts";
import { blockToJson } from "../../domain/block-json.ts";
import { conversationOfStream, keyedBlockId } from "../../domain/ids.ts";
import { user } from "../../domain/make-block.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import type { EngineOptions } from "../options/engine.ts";
import { ConversationMovedError } from "../session/errors.ts";
import { engineActor } from "../session/session.ts";

const notes = {
  cancelled: "[Your last answer was interrupted before it was finished. It is not part of this conversation.]",
  failed: "[Your last answer was cut off by an error before it was finished. It is not part of this conversation.]",
} as const;

/**
 * Appends a user message that tells the model that the last run broke off, if the engine is set to and the message is not there yet. Every
 * wire can carry a user message at any place. Its id follows from that run, so it is appended once, whichever process begins the next run.
 *
 * @throws {ConversationMovedError} if another writer appended meanwhile.
 */
export async function noteInterruption(
  stream: ConversationWriter,
  { interruptionNote }: Pick<EngineOptions, "interruptionNote">,
): Promise<void> {
  const { answers, committed } = stream.view.client;
  const conversation = conversationOfStream(stream.name);
  if (interruptionNote === null || answers.interrupted === null || conversation === null) return;
  const { runId, how } = answers.interrupted;
  const block = user(interruptionNote === true ? notes[how] : interruptionNote);
  // The note is already there; a second interruption adds nothing.
  const last = committed.at(-1);
  if (last !== undefined && Block.areEqual(last, Block.named(block, await stream.names()))) return;
  const told = block.withId(keyedBlockId(conversation, `interruption ${runId}`, 0));
  const event = { type: "BlockAppended", version: 1, data: { block: blockToJson(told) } } as const;
  await stream.commit([{ event, actor: engineActor }], ({ client }) => {
    if (client.run !== null || client.answers.interrupted?.runId !== runId) throw new ConversationMovedError();
  });
}
