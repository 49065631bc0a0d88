import { copyConversations } from "../../carry/copy.ts";
import type { CommandHandler } from "../context.ts";
import { reportCopies } from "../copy-report.ts";
import { UsageError } from "../exit-codes.ts";
import { findConversation } from "../find.ts";
import { textOption } from "../options.ts";

/** Copies conversations from one store to another, with all that they need; a copy that was broken off goes on. */
export const run: CommandHandler = async (context, { arguments: names, options }) => {
  const from = textOption(options, "from") ?? context.storeUrl;
  const to = textOption(options, "to");
  if (to === null) throw new UsageError("name the store to copy to: --to sqlite:PATH or esdb://HOST:PORT");
  const { signal } = context;
  await using source = await context.openStore({ url: from, mustExist: true });
  const conversations = [];
  for (const name of names) conversations.push((await findConversation(source, name)).id);
  await using target = await context.openStore({ url: to, mustExist: false });
  const progress = context.progress("copying");
  try {
    const copied = await copyConversations(source, target, {
      ...(names.length === 0 ? {} : { conversations }),
      signal,
      onProgress: progress.update,
    });
    reportCopies(context, copied, "copied");
  } finally {
    progress.end();
  }
};
