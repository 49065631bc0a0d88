import type { JsonObject } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Conversation } from "../../conversation/conversation.ts";
import type { AppendOptions } from "../../conversation/conversation-options.ts";
import { type BlockId, blockIdSchema, keyedBlockId } from "../../domain/ids.ts";
import { user } from "../../domain/make-block.ts";
import type { ChatFold } from "./chat-fold.ts";
import { noConversation } from "./chat-refusal.ts";
import { answeredIn } from "./ui-messages.ts";

/** Who writes. */
export type ChatActor = NonNullable<AppendOptions["actor"]>;

/** How many edits of one message are looked for. */
const maxEdits = 1_000;

/** The key under which an edit of a block is appended. */
const editKey = (blockId: string): string => `edit of ${blockId}`;

/**
 * The block of a message as a page names it: by the block's id, or by the id that the page gave it. A page keeps that id when the message is
 * edited, so the edits are followed.
 *
 * @throws {ChatRefusal} if the Turn has no such message.
 */
export function blockOf({ id }: Conversation, fold: ChatFold, pageId: string): BlockId {
  const named = blockIdSchema.safeParse(pageId);
  let at = named.success ? named.data : keyedBlockId(id, pageId, 0);
  for (let edits = 0; edits < maxEdits; edits += 1) {
    if (fold.knows(at)) return at;
    at = keyedBlockId(id, editKey(at), 0);
  }
  throw noConversation();
}

/** Appends a message under the id that the page gave it, so that a repeated request appends nothing. */
export async function appendMessage(
  conversation: Conversation,
  { id, parts }: { readonly id: string; readonly parts: readonly JsonObject[] },
  actor: ChatActor,
): Promise<BlockId> {
  await conversation.append(user(parts), { key: id, actor });
  return keyedBlockId(conversation.id, id, 0);
}

/** Puts another text in the place of a message: what came after it is left out. A repeated request changes nothing. */
export async function editMessage(
  conversation: Conversation,
  edited: { readonly blockId: BlockId; readonly parts: readonly JsonObject[] },
  actor: ChatActor,
): Promise<BlockId> {
  const { blockId, parts } = edited;
  const block = user(parts);
  const known = (await conversation.turn()).find(blockId);
  if (known?.text === block.text && known.parts.length === block.parts.length) return blockId;
  await endRun(conversation, actor);
  await conversation.revertToBlock(blockId, { before: true, actor: changer(actor) });
  for (let at: string = blockId, edits = 0; edits < maxEdits; edits += 1) {
    const key = editKey(at);
    const id = keyedBlockId(conversation.id, key, 0);
    // Another edit was appended under this key, and may be gone again.
    if (await isAppended(conversation, { block, key, id }, actor)) return id;
    at = id;
  }
  throw noConversation();
}

type Keyed = { readonly block: ReturnType<typeof user>; readonly key: string; readonly id: BlockId };

async function isAppended(conversation: Conversation, { block, key, id }: Keyed, actor: ChatActor): Promise<boolean> {
  try {
    const { isNew } = await conversation.append(block, { key, actor });
    return isNew || (await conversation.turn()).find(id) !== undefined;
  } catch (error) {
    if (error instanceof TurnlogError && error.code === "key-reused") return false;
    throw error;
  }
}

/** Leaves out the answer to a message, so that the next run answers it anew. Returns the message. */
export async function forgetAnswer(
  conversation: Conversation,
  { fold, messageId }: { readonly fold: ChatFold; readonly messageId: string | null },
  actor: ChatActor,
): Promise<BlockId> {
  const asked = messageId === null ? fold.asked() : (answeredIn(messageId) ?? messageId);
  if (asked === null) throw noConversation();
  const blockId = blockOf(conversation, fold, asked);
  await endRun(conversation, actor);
  await conversation.revertToBlock(blockId, { actor: changer(actor) });
  return blockId;
}

/** Ends what is open: another text is another question, and nobody approves a call of the old one. */
async function endRun(conversation: Conversation, actor: ChatActor): Promise<void> {
  await conversation.cancel({ actor: changer(actor), reason: "the message is answered anew" });
}

/** An import changes no Turn. */
const changer = (actor: ChatActor): Exclude<ChatActor, { readonly kind: "import" }> =>
  actor.kind === "import" ? { kind: "app" } : actor;
