import { constants } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { createBeside, kindAt, namedFile, putInPlace } from "../stores/files.ts";
import { UsageError } from "./exit-codes.ts";

/** What a file is about to hold, and so what may be replaced by it. */
export type FileContent = {
  /** What such a file is, for who is told that there is another one: `bundle`. */
  readonly name: string;
  /** What every such file begins with. */
  readonly begin: string;
  readonly pieces: AsyncIterable<string> | Iterable<string>;
  /** May throw to stop the writing. */
  readonly onPiece?: (written: number) => void;
};

/**
 * Writes a file as a whole: a crash leaves what was there before, or all of the new one. Only this user may read it, or who
 * might read the file that it replaces. A link is followed; into a pipe or a device is written as it comes, for nothing may
 * take its place.
 *
 * @throws {UsageError} when the path is a folder, or a file that holds something else.
 * @throws what the pieces throw; then nothing is left behind.
 */
export async function writeWholeFile(path: string, content: FileContent): Promise<void> {
  // Looked at by the name that was given: where /dev/fd/3 leads is no path.
  const kind = kindAt(path);
  if (kind === "folder") throw new UsageError(`${path} is a folder: name a file in it`);
  if (kind === "stream") {
    await using stream = await open(path, constants.O_WRONLY);
    await writePieces(stream, content);
    return;
  }
  const target = namedFile(path);
  if (kind === "file" && !(await mayReplace(target, content.begin)))
    throw new UsageError(`${path} exists and is not a ${content.name}: name another file, or delete it first`);
  const temporary = createBeside(target);
  try {
    await fillFile(temporary, content);
    putInPlace(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Whether a file holds nothing, or what such a file holds: any other is left alone. */
async function mayReplace(path: string, begin: string): Promise<boolean> {
  await using file = await open(path, "r");
  const there = Buffer.alloc(Buffer.byteLength(begin));
  const { bytesRead } = await file.read(there, 0, there.length, 0);
  return bytesRead === 0 || there.equals(Buffer.from(begin));
}

async function fillFile(path: string, content: FileContent): Promise<void> {
  await using file = await open(path, "r+");
  await writePieces(file, content);
  await file.sync();
}

async function writePieces(file: FileHandle, { pieces, onPiece = () => undefined }: FileContent): Promise<void> {
  let written = 0;
  for await (const piece of pieces) {
    await file.appendFile(piece);
    written += 1;
    onPiece(written);
  }
}
