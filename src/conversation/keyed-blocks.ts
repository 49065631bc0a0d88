import { sha256Hex } from "../base/sha256.ts";
import { type Block, idOf } from "../domain/block.ts";
import { blockFromJson } from "../domain/block-json.ts";
import { type BlockId, blockIdSchema, type ConversationId } from "../domain/ids.ts";
import type { ConversationWriter } from "../log/writer/conversation-writer.ts";

/** The id of the n-th block that is appended with a key (rule: Equal blocks): the same whenever it is appended. */
export function blockIdOf(conversation: ConversationId, key: string, index: number): BlockId {
  // The number stands first, where no key does, after what no id has: the second block of `a` is not the first of `a 1`.
  const name = index === 0 ? `${conversation} ${key}` : `#${index} ${conversation} ${key}`;
  return blockIdSchema.parse(`blk_${sha256Hex(name).slice(0, 21)}`);
}

/** The block that was appended under the id of this one. */
export async function recordedBlock(stream: ConversationWriter, block: Block): Promise<Block> {
  const event = (await stream.appended(idOf(block)))?.event;
  return event?.type === "BlockAppended" ? blockFromJson(event.data.block) : block;
}
