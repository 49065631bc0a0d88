import { constants } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { kindAt, namedFile } from "../stores/named-file.ts";
import { UsageError } from "./exit-codes.ts";

type Pieces = AsyncIterable<string> | Iterable<string>;
type OnPiece = (written: number) => void;

/**
 * Writes a file as a whole: a crash leaves what was there before, or all of the new one. A link is followed; into a pipe or
 * a device is written as it comes, for nothing may take its place. `onPiece` may throw to stop it.
 *
 * @throws {UsageError} when the path is a folder.
 * @throws what the pieces throw; then nothing is left behind.
 */
export async function writeWholeFile(path: string, pieces: Pieces, onPiece: OnPiece = () => undefined): Promise<void> {
  const target = namedFile(path);
  const kind = kindAt(target);
  if (kind === "folder") throw new UsageError(`${path} is a folder: name a file in it`);
  if (kind === "stream") {
    await using stream = await open(path, constants.O_WRONLY);
    await writePieces(stream, pieces, onPiece);
    return;
  }
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    await writeNewFile(temporary, pieces, onPiece);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(target));
}

async function writeNewFile(path: string, pieces: Pieces, onPiece: OnPiece): Promise<void> {
  await using file = await open(path, "w", 0o600);
  await writePieces(file, pieces, onPiece);
  await file.sync();
}

async function writePieces(file: FileHandle, pieces: Pieces, onPiece: OnPiece): Promise<void> {
  let written = 0;
  for await (const piece of pieces) {
    await file.appendFile(piece);
    written += 1;
    onPiece(written);
  }
}

/** Makes a rename durable. Windows has no such thing, and needs none. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
