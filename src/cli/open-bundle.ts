import { createReadStream } from "node:fs";
import { importBundle } from "../carry/carry-bundle.ts";
import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import { openStore } from "../open-store.ts";

/**
 * The conversations of a bundle, in a store in memory.
 *
 * @throws {TurnlogError} `bundle-unusable` if the file is no bundle, or is cut off.
 */
export async function openBundle(file: string): Promise<TurnlogStore> {
  const store = await openStore("memory:");
  await importBundle(() => createReadStream(file, "utf8"), store);
  return store;
}
