import { constants } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { createBeside, kindAt, namedFile, putInPlace } from "../../stores/files.ts";
import { UsageError } from "./exit-codes.ts";

/** What a file will hold, and therefore which file it may replace. */
export type FileContent = {
  /** The name of such a file, for the message about a file of another kind: `bundle`. */
  readonly name: string;
  /** The beginning of every such file. */
  readonly begin: string;
  readonly pieces: AsyncIterable<string> | Iterable<string>;
  /** May throw to stop the writing. */
  readonly onPiece?: (written: number) => void;
};

/**
 * Checks that `writeWholeFile` may write there, before work that cannot be done again. The disk may still be full by then.
 *
 * @throws {UsageError} as `writeWholeFile` does, and Node's error if the folder cannot be written.
 */
export async function checkWholeFile(path: string, content: Omit<FileContent, "pieces">): Promise<void> {
  const target = await targetOf(path, content);
  if (target !== null) await rm(createBeside(target));
}

/**
 * Writes a file as a whole: a crash leaves the old content or the new one. Only the current user may read it, or those who could
 * read the file that it replaces. It follows links, and writes directly into a pipe or a device, which must not be replaced.
 *
 * @throws {UsageError} if the path is a folder, or a file with other content.
 * @throws the error of the pieces; no file is left behind then.
 */
export async function writeWholeFile(path: string, content: FileContent): Promise<void> {
  const target = await targetOf(path, content);
  if (target === null) {
    await using stream = await open(path, constants.O_WRONLY);
    await writePieces(stream, content);
    return;
  }
  const temporary = createBeside(target);
  try {
    await fillFile(temporary, content);
    putInPlace(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** The file to replace or to make; null for a pipe or a device. */
async function targetOf(path: string, { name, begin }: Omit<FileContent, "pieces">): Promise<string | null> {
  // Checked by the given name, because the target of /dev/fd/3 is not a path.
  const kind = kindAt(path);
  if (kind === "folder") throw new UsageError(`${path} is a folder: name a file in it`);
  if (kind === "stream") return null;
  const target = namedFile(path);
  if (kind === "file" && !(await mayReplace(target, begin)))
    throw new UsageError(`${path} exists and is not a ${name}: name another file, or delete it first`);
  return target;
}

/** Whether a file is empty or of this kind: others are not replaced. */
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
