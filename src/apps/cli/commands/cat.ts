import { printableJson } from "../../../base/printable.ts";
import { conversationStream } from "../../../domain/ids.ts";
import { catDocument } from "../../documents/conversations.ts";
import { storedEventDocument } from "../../documents/stored-event.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { NotFoundError } from "../exit-codes.ts";
import { findPlace } from "../find.ts";

type Options = { readonly full?: boolean };

/** One event as it is stored. */
export const cat = commandCode({
  document: catDocument,

  async *run(context, { arguments: [place = ""], options: { full = false } }: CommandInput<Options>) {
    await using store = await context.openStore("read");
    const { conversation, revision } = await findPlace(store, place);
    const { id } = conversation;
    const stream = conversationStream(id);
    const document = await storedEventDocument(store.events, { id, stream, revision }, { full });
    if (document === null) throw new NotFoundError(`the store no longer holds revision ${revision} of ${id}`);
    yield document;
  },

  render(document, { print }) {
    print(printableJson(JSON.stringify(document, null, 2)));
  },
});
