import { createReadStream } from "node:fs";
import { linesOf } from "../base/lines.ts";
import { type BundleHeader, bundleSource } from "../carry/bundle.ts";
import { copyEvents } from "../carry/copy.ts";
import type { CliContext } from "./context.ts";
import { reportCopies } from "./copy-report.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit-codes.ts";

/** Takes a bundle's conversations into the store under their own names. Nothing is written of one that is not whole. */
export async function importBundle(context: CliContext, file: string, header: BundleHeader): Promise<ExitCode> {
  if (header.isRedacted) {
    throw new UsageError(
      `${file} is a redacted bundle, to be read and not imported: its texts are gone; export it without --redact`,
    );
  }
  const source = bundleSource(header, () => linesOf(textOf(file)));
  // Read to its end before a store is opened, which would be made for it.
  for await (const _ of source.events()) context.signal.throwIfAborted();
  await using store = await context.openStore({ mustExist: false });
  const progress = context.progress("importing");
  try {
    const { signal } = context;
    reportCopies(context, await copyEvents(source, store.events, { signal, onProgress: progress.update }), "imported");
    return exitCodes.ok;
  } finally {
    progress.end();
  }
}

/** The beginning of a file, up to its first line feed: what it is can be told by it. */
export async function firstLine(file: string): Promise<string> {
  for await (const line of linesOf(textOf(file))) return line;
  return "";
}

const textOf = (file: string): AsyncIterable<string> => createReadStream(file, { encoding: "utf8" });
