import type { Conversation } from "../../conversation/conversation.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import { placeName } from "../block-rows.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { skipDocument } from "../documents/stores.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findPlace } from "../find.ts";
import { parsePlace } from "../revision.ts";

/** Lets a conversation go on without a damaged event, and says whether that was all of the damage. */
export const skip = commandCode({
  document: skipDocument,

  async *run(context, { arguments: [place = ""], options: { reason } }: CommandInput<{ readonly reason: string }>) {
    if (parsePlace(place).at.type !== "one")
      throw new UsageError(`expected one event such as cnv_8f3k@120, as \`turnlog verify\` prints it, got '${place}'`);
    await using store = await context.openStore({ mustExist: true, isWritten: true });
    const { conversation, revision } = await findPlace(store, place);
    await conversation.skipEvent(revision, reason);
    const damage = await damageOf(conversation);
    yield { conversation: conversation.id, revision, damage };
    return damage === null ? exitCodes.ok : exitCodes.integrity;
  },

  render({ conversation, revision, damage }, { print, note }) {
    print(`${placeName(conversation, revision)} is skipped`);
    print(damage === null ? "the conversation can go on" : `the damage goes on ${damage.message}`);
    if (damage !== null && revision > 0)
      note(`\`turnlog fork ${placeName(conversation, revision - 1)}\` goes on from before it instead`);
  },
});

/** What still stops the conversation; null when nothing does. */
async function damageOf(conversation: Conversation) {
  try {
    await conversation.turn();
    return null;
  } catch (error) {
    if (!(error instanceof ConversationDamagedError)) throw error;
    const { stream, revision, message } = error;
    return { stream, revision, message };
  }
}
