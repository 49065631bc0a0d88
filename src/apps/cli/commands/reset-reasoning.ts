import { counted } from "../../../base/counted.ts";
import { resetReasoningDocument } from "../../documents/writing.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { findConversation } from "../find.ts";

/** Excludes the reasoning so far from later requests, which also stop continuing from contexts that hold it. */
export const resetReasoning = commandCode({
  document: resetReasoningDocument,

  async *run(context, { arguments: [name = ""] }: CommandInput) {
    await using store = await context.openStore("write");
    const conversation = await findConversation(store, name);
    const blockIds = await conversation.resetReasoning({ actor: { kind: "operator" } });
    yield { conversation: conversation.id, blockIds };
  },

  render({ conversation, blockIds }, { print }) {
    const { length } = blockIds;
    print(
      length === 0
        ? `nothing to do: the Turn of ${conversation} has no reasoning`
        : `turnlog will not send ${counted(length, "reasoning block")} of ${conversation} again, and will not continue from a response that holds it`,
    );
  },
});
