import { type Block, idOf } from "../domain/block.ts";
import { blockFromJson } from "../domain/block-json.ts";
import type { ConversationWriter } from "../log/writer/conversation-writer.ts";

/** The block that was appended under the id of this one. */
export async function recordedBlock(stream: ConversationWriter, block: Block): Promise<Block> {
  const event = (await stream.appended(idOf(block)))?.event;
  return event?.type === "BlockAppended" ? blockFromJson(event.data.block) : block;
}
