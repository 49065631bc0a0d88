import { createReadStream } from "node:fs";
import { TurnlogError } from "../base/turnlog-error.ts";
import { importBundle } from "../carry/carry-bundle.ts";
import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import { openStore } from "../open-store.ts";
import { UsageError } from "./exit-codes.ts";

/**
 * The conversations of a bundle, in a store in memory.
 *
 * @throws {UsageError} if the file is no bundle, or a redacted one.
 * @throws {TurnlogError} `store-corrupted` if it is cut off or was changed.
 */
export async function openBundle(file: string): Promise<TurnlogStore> {
  const store = await openStore("memory:");
  try {
    await importBundle(() => createReadStream(file, "utf8"), store);
  } catch (error) {
    if (!(error instanceof TurnlogError) || error.code !== "bundle-unusable") throw error;
    throw new UsageError(`${file}: ${error.message.replace(/^importBundle: /, "")}`, { cause: error });
  }
  return store;
}
