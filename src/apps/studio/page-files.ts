import { readFile } from "node:fs/promises";
import { extname, join, normalize, sep } from "node:path";
import type { PageFile } from "./studio.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Reads the built page from its folder, and keeps what was read. */
export function pageFiles(folder: string): (path: string) => Promise<PageFile | null> {
  const known = new Map<string, PageFile | null>();
  return async (path) => {
    const found = known.get(path);
    if (found !== undefined) return found;
    const file = await readPageFile(folder, path);
    if (known.size < 200) known.set(path, file);
    return file;
  };
}

async function readPageFile(folder: string, path: string): Promise<PageFile | null> {
  const type = types[extname(path)];
  const file = normalize(join(folder, path));
  if (type === undefined || !file.startsWith(`${folder}${sep}`)) return null;
  try {
    return { bytes: new Uint8Array(await readFile(file)), type };
  } catch {
    return null;
  }
}
