import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Writes a file as a whole: a crash leaves what was there before, or all of the new one. `onPiece` may throw to stop it.
 *
 * @throws what the pieces throw; then nothing is left behind.
 */
export async function writeWholeFile(
  path: string,
  pieces: AsyncIterable<string> | Iterable<string>,
  onPiece: (written: number) => void = () => undefined,
): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = await open(temporary, "w", 0o600);
  let written = 0;
  try {
    try {
      for await (const piece of pieces) {
        await file.appendFile(piece);
        written += 1;
        onPiece(written);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
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
