import { readFile } from "node:fs/promises";
import { headerLine, headLine, headsBegin, parseHeads, type SavedHeads } from "../stores/saved-heads.ts";
import { UsageError } from "./exit-codes.ts";
import { writeWholeFile } from "./whole-file.ts";

/** @throws {UsageError} when the file is not one that `--save-heads` wrote, whole. */
export async function readHeads(path: string): Promise<SavedHeads> {
  const saved = parseHeads(await readFile(path, "utf8"));
  if (saved === null) throw new UsageError(`${path} holds no heads: name a file that --save-heads wrote`);
  if (saved.unreadable > 0)
    throw new UsageError(`${path} is damaged, ${saved.unreadable} of its lines are no heads: name another one`);
  return saved;
}

/** Replaces the file as a whole: a crash leaves the old heads or the new ones. */
export async function writeHeads(path: string, { storeId, heads }: SavedHeads): Promise<void> {
  const pieces = [headerLine(storeId), ...Array.from(heads, ([stream, head]) => headLine(stream, head))];
  await writeWholeFile(path, { name: "file of heads", begin: headsBegin, pieces });
}
