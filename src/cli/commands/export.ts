import { bundleBegin, bundleLines } from "../../carry/bundle.ts";
import { openStoreSource } from "../../carry/copy-source.ts";
import { grouped, printableJson } from "../../projections/wording.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { UsageError } from "../exit-codes.ts";
import { findConversation } from "../find.ts";
import { flag, textOption } from "../options.ts";
import { writeWholeFile } from "../whole-file.ts";

/** Writes conversations as one bundle, with all that they need, into a file or to stdout. */
export const run: CommandHandler = async (context, { arguments: names, options }) => {
  const path = textOption(options, "output");
  const isRedacted = flag(options, "redact");
  if (path === null && context.isJson)
    throw new UsageError("a bundle on stdout is JSON already: leave out --json, or name a file with --output");
  await using store = await context.openStore({ mustExist: true });
  const conversations = [];
  for (const name of names) conversations.push((await findConversation(store, name)).id);
  const source = await openStoreSource(store.events, conversations);
  const lines = bundleLines(source, { storeId: store.events.storeId, isRedacted });
  if (path === null) {
    await writeOut(context, lines);
    return;
  }
  const progress = context.progress("exporting");
  // All lines but the first and the last are events.
  const events = source.heads.reduce((sum, { head }) => sum + head.revision + 1, 0);
  try {
    await writeWholeFile(path, {
      name: "bundle",
      begin: bundleBegin,
      pieces: lines,
      onPiece(written) {
        context.signal.throwIfAborted();
        progress.update(written, events);
      },
    });
  } finally {
    progress.end();
  }
  if (context.isJson)
    context.printJson({ file: path, conversations, streams: source.heads.length, events, isRedacted });
  else context.print(`${grouped(events)} events written to ${path}${isRedacted ? ", their texts redacted" : ""}`);
};

async function writeOut(context: CliContext, lines: AsyncIterable<string>): Promise<void> {
  for await (const line of lines) {
    // A terminal would obey what is in it; a pipe gets the very bytes.
    context.write(context.isTerminal ? printableJson(line) : line);
    await context.drained();
  }
}
