import { grouped } from "../../base/counted.ts";
import { printableJson } from "../../base/printable.ts";
import { bundleBegin } from "../../carry/bundle.ts";
import { recordedBundle } from "../../carry/carry-bundle.ts";
import { openStoreSource } from "../../carry/copy-source.ts";
import { exportDocument } from "../../documents/stores.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-codes.ts";
import { findConversations } from "../find.ts";
import { writeWholeFile } from "../whole-file.ts";

type Options = { readonly output?: string; readonly redact?: boolean };

/** Writes conversations as one bundle, with everything that they need, into a file or to stdout. */
export const exportBundle = commandCode({
  document: exportDocument,

  async *run(context, { arguments: names, options }: CommandInput<Options>) {
    const { output, redact: isRedacted = false } = options;
    const file = output === "-" || output === "/dev/stdout" ? undefined : output;
    if (file === undefined && context.isJson)
      throw new UsageError("a bundle on stdout is already JSON: leave out --json, or name a file with --output");
    await using store = await context.openStore("read");
    const conversations = await findConversations(store, names);
    const source = await openStoreSource(store.events, conversations);
    const onUnrecorded = (reason: string): void => context.note(`the store did not record the export: ${reason}`);
    const lines = recordedBundle(store, source, { conversations, redact: isRedacted, onUnrecorded });
    if (file === undefined) {
      await writeOut(context, lines);
      return;
    }
    // All lines except the first and the last are events.
    const events = source.heads.reduce((sum, { head }) => sum + head.revision + 1, 0);
    await context.progress("exporting", (update) =>
      writeWholeFile(file, {
        ...{ name: "bundle", begin: bundleBegin, pieces: lines },
        onPiece(written) {
          context.signal.throwIfAborted();
          update(written, events);
        },
      }),
    );
    yield { file, conversations, streams: source.heads.length, events, isRedacted };
  },

  render({ file, events, isRedacted }, { print }) {
    print(`${grouped(events)} events written to ${file}${isRedacted ? ", their texts redacted" : ""}`);
  },
});

async function writeOut(context: CliContext, lines: AsyncIterable<string>): Promise<void> {
  for await (const line of lines) {
    // A terminal would obey control characters; a pipe gets the exact bytes.
    context.write(context.isTerminal ? printableJson(line) : line);
    await context.drained();
  }
}
