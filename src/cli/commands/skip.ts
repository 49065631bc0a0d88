import type { Conversation } from "../../conversation/conversation.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import type { CommandHandler } from "../context.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation, findRevision } from "../find.ts";
import { placeName } from "../open-place.ts";
import { textOption } from "../options.ts";
import { parsePlace } from "../revision.ts";

/** Lets a conversation go on without a damaged event, and says whether that was all of the damage. */
export const run: CommandHandler = async (context, { arguments: [text = ""], options }) => {
  const { conversation: name, at } = parsePlace(text);
  if (at.type !== "one")
    throw new UsageError(`'${text}' names no event: write cnv_8f3k@120, as \`turnlog verify\` has it`);
  const reason = textOption(options, "reason");
  if (reason === null || reason.trim() === "") throw new UsageError("say with --reason what you found: it is recorded");
  await using store = await context.openStore({ mustExist: true, isWritten: true });
  const conversation = await findConversation(store, name);
  const revision = await findRevision(store, conversation, at.revision);
  await conversation.skipEvent(revision, reason);
  const damage = await damageOf(conversation);
  if (context.isJson) context.printJson({ conversation: conversation.id, revision, damage });
  else {
    context.print(`${placeName(conversation, revision)} is skipped`);
    context.print(damage === null ? "the conversation can go on" : `the damage goes on ${damage.message}`);
    if (damage !== null && revision > 0) {
      context.note(`\`turnlog fork ${conversation.id}@${revision - 1}\` goes on from before it instead`);
    }
  }
  return damage === null ? exitCodes.ok : exitCodes.integrity;
};

type Damage = Pick<ConversationDamagedError, "stream" | "revision" | "message">;

/** What still stops whoever decides; null when nothing does. */
async function damageOf(conversation: Conversation): Promise<Damage | null> {
  try {
    await conversation.turn();
    return null;
  } catch (error) {
    if (!(error instanceof ConversationDamagedError)) throw error;
    const { stream, revision, message } = error;
    return { stream, revision, message };
  }
}
