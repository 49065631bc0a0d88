import { forkDocument } from "../../documents/stores.ts";
import { placeName } from "../block-rows.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { findPlace, newConversationId } from "../find.ts";

/** Creates a conversation that continues from a revision of another. */
export const fork = commandCode({
  document: forkDocument,

  async *run(context, { arguments: [place = ""], options: { id } }: CommandInput<{ readonly id?: string }>) {
    const wanted = id === undefined ? {} : { id: newConversationId(id) };
    await using store = await context.openStore("write");
    const { conversation: parent, revision } = await findPlace(store, place);
    const conversation = await parent.fork(revision, { actor: { kind: "operator" }, ...wanted });
    yield { conversation: conversation.id, parent: parent.id, revision };
  },

  render({ conversation, parent, revision }, { print, note }) {
    print(conversation);
    note(`fork of ${placeName(parent, revision)}`);
  },
});
