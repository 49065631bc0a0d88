import { createReadStream } from "node:fs";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { openStore } from "../../conversation/open-store.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { importBundle } from "../../operations/transfer/carry-bundle.ts";
import { UsageError } from "./exit-codes.ts";

/**
 * The conversations of a bundle, in a store in memory.
 *
 * @throws {UsageError} if the file is no bundle, or a redacted one.
 * @throws {TurnlogError} `store-corrupted` if it is cut off or was changed.
 */
export async function openBundle(file: string): Promise<TurnlogStore> {
  const store = await openStore("memory:");
  await readBundle(file, (read) => importBundle(read, store));
  return store;
}

/**
 * Reads a bundle from its file, and names the file if it is none.
 *
 * @throws {UsageError} if the file is no bundle, or not of the kind that the reader takes.
 */
export async function readBundle<Read>(
  file: string,
  reader: (read: () => AsyncIterable<string>) => Promise<Read>,
): Promise<Read> {
  try {
    return await reader(() => createReadStream(file, "utf8"));
  } catch (error) {
    if (!(error instanceof TurnlogError) || error.code !== "bundle-unusable") throw error;
    throw new UsageError(`${file}: ${error.message.replace(/^\w+Bundle: /, "")}`, { cause: error });
  }
}
