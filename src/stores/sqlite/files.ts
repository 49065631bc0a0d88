import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { namedFile } from "../files.ts";

/** The file of a store, its log, and the saved heads, as they are on the disk. The index of the log (`-shm`) has no content. */
export async function* filesOf(path: string): AsyncIterable<AsyncIterable<Uint8Array>> {
  const file = namedFile(resolve(path));
  for (const each of [file, `${file}-wal`, `${file}.heads`]) if (existsSync(each)) yield bytesOf(each);
}

/**
 * Another process reads the file: if this one closed it, the locks that SQLite holds on it would be gone (POSIX advisory locks;
 * sqlite.org, How To Corrupt An SQLite Database File, 2.2).
 */
async function* bytesOf(file: string): AsyncIterable<Uint8Array> {
  // If this process is killed, the pipe breaks: the child exits without a stack trace in the user's terminal.
  const script =
    "process.stdout.on('error',()=>process.exit(1));require('node:fs').createReadStream(process.argv[1],{highWaterMark:1<<20}).pipe(process.stdout)";
  const reader = spawn(process.execPath, ["-e", script, file], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(reader, "close");
  try {
    for await (const piece of reader.stdout) yield piece;
    await ended;
    if (reader.exitCode !== 0) throw new Error(`the search could not read ${file}`);
  } finally {
    reader.kill();
  }
}
