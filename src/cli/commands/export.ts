import { grouped } from "../../base/counted.ts";
import { jsonOf, objectOf, textOrNull } from "../../base/json.ts";
import { printableJson } from "../../base/printable.ts";
import { bundleBegin, bundleLines } from "../../carry/bundle.ts";
import { openStoreSource } from "../../carry/copy-source.ts";
import { recordExport } from "../../records/exports.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { CliContext } from "../context.ts";
import { exportDocument } from "../documents/stores.ts";
import { UsageError } from "../exit-codes.ts";
import { findConversations } from "../find.ts";
import { writeWholeFile } from "../whole-file.ts";

type Options = { readonly output?: string; readonly redact?: boolean };

/** Writes conversations as one bundle, with all that they need, into a file or to stdout. */
export const exportBundle = commandCode({
  document: exportDocument,

  async *run(context, { arguments: names, options }: CommandInput<Options>) {
    const { output, redact: isRedacted = false } = options;
    const file = output === "-" || output === "/dev/stdout" ? undefined : output;
    if (file === undefined && context.isJson)
      throw new UsageError("a bundle on stdout is JSON already: leave out --json, or name a file with --output");
    await using store = await context.openStore("read");
    const conversations = await findConversations(store, names);
    const source = await openStoreSource(store.events, conversations);
    const bundle = hashed(bundleLines(source, { storeId: store.events.storeId, isRedacted }));
    const recordIt = async (): Promise<void> => {
      const made = { kind: "bundle", conversations, isRedacted, sha256: bundle.sha256(), storeId: null } as const;
      const unrecorded = await recordExport(store.log, made);
      if (unrecorded !== null) context.note(`the export is not on record in the store: ${unrecorded}`);
    };
    if (file === undefined) {
      await writeOut(context, bundle.lines);
      await recordIt();
      return;
    }
    // All lines but the first and the last are events.
    const events = source.heads.reduce((sum, { head }) => sum + head.revision + 1, 0);
    await context.progress("exporting", (update) =>
      writeWholeFile(file, {
        ...{ name: "bundle", begin: bundleBegin, pieces: bundle.lines },
        onPiece(written) {
          context.signal.throwIfAborted();
          update(written, events);
        },
      }),
    );
    await recordIt();
    yield { file, conversations, streams: source.heads.length, events, isRedacted };
  },

  render({ file, events, isRedacted }, { print }) {
    print(`${grouped(events)} events written to ${file}${isRedacted ? ", their texts redacted" : ""}`);
  },
});

/** The lines of a bundle, and, once they were all taken, the hash that its last line says. */
function hashed(bundle: AsyncIterable<string>) {
  let last = "";
  return {
    lines: (async function* () {
      for await (const line of bundle) {
        last = line;
        yield line;
      }
    })(),
    sha256: (): string | null => textOrNull(objectOf(jsonOf(last))["sha256"]),
  };
}

async function writeOut(context: CliContext, lines: AsyncIterable<string>): Promise<void> {
  for await (const line of lines) {
    // A terminal would obey what is in it; a pipe gets the very bytes.
    context.write(context.isTerminal ? printableJson(line) : line);
    await context.drained();
  }
}
