import { readFile } from "node:fs/promises";
import * as z from "zod";
import { sha256Schema } from "../domain/ids.ts";
import type { Head } from "../engine/ports/event-store.ts";
import { UsageError } from "./exit-codes.ts";
import { writeWholeFile } from "./whole-file.ts";

/** Heads kept outside a store: what shows that the store lost its newest events. */
const headsFileSchema = z.strictObject({
  version: z.literal(1),
  storeId: z.string(),
  heads: z.array(z.strictObject({ stream: z.string(), revision: z.int().nonnegative(), digest: sha256Schema })),
});
export type SavedHeads = { readonly storeId: string; readonly heads: ReadonlyMap<string, Head> };

/** @throws {UsageError} when the file is not one that `--save-heads` wrote. */
export async function readHeads(path: string): Promise<SavedHeads> {
  const parsed = headsFileSchema.safeParse(parseJson(await readFile(path, "utf8")));
  if (!parsed.success) throw new UsageError(`${path} holds no heads: name a file that --save-heads wrote`);
  const { storeId, heads } = parsed.data;
  return { storeId, heads: new Map(heads.map(({ stream, revision, digest }) => [stream, { revision, digest }])) };
}

/** Replaces the file as a whole: a crash leaves the old heads or the new ones. */
export async function writeHeads(path: string, { storeId, heads }: SavedHeads): Promise<void> {
  const listed = [...heads].map(([stream, head]) => ({ stream, ...head }));
  await writeWholeFile(path, [`${JSON.stringify({ version: 1, storeId, heads: listed }, null, 1)}\n`]);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
