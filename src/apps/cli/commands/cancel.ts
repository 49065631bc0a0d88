import { cancelDocument } from "../../documents/running.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { findConversation } from "../find.ts";

type Options = { readonly reason?: string; readonly wait: number };

/** Ends the open run, in whichever process it runs. */
export const cancel = commandCode({
  document: cancelDocument,

  async *run(context, { arguments: [name = ""], options }: CommandInput<Options>) {
    const { reason, wait } = options;
    await using store = await context.openStore("write");
    const conversation = await findConversation(store, name);
    const waitMs = Math.round(wait * 1000);
    const cancelled = await conversation.cancel({ ...(reason === undefined ? {} : { reason }), waitMs });
    yield { conversation: conversation.id, ...(cancelled ?? { runId: null, status: "none" as const }) };
    return cancelled?.status === "requested" ? exitCodes.failure : exitCodes.ok;
  },

  render({ conversation, runId, status }, { style, print, note }) {
    if (status === "none") note(`no run of ${conversation} is open: nothing to do`);
    else print(`${style.bold(runId ?? "")}  ${statusWords[status]}`);
  },
});

const statusWords = {
  cancelled: "cancelled: what it did stays, and every call is answered",
  completed: "completed before its process saw the request",
  failed: "failed before its process saw the request",
  requested:
    "requested: the process that executes the run has not ended it yet; if it hangs, abandon the run with `turnlog resume --abandon --takeover`",
} as const;
