import { delimiter, join, sep } from "node:path";
import { outcomeOf } from "../process.ts";

/** The first Node on PATH that is too old for the package, or null; npm's scripts put a current one before it. */
export async function findOldNode(): Promise<string | null> {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const folder of folders.filter((name) => !name.split(sep).includes("node_modules"))) {
    const node = join(folder, "node");
    const version = await versionOf(node);
    if (version !== null && isTooOld(version)) return node;
  }
  return null;
}

const isTooOld = ([major, minor]: readonly [number, number]): boolean => major < 22 || (major === 22 && minor < 13);

async function versionOf(node: string): Promise<readonly [number, number] | null> {
  try {
    const { stdout } = await outcomeOf(node, ["--version"], { cwd: import.meta.dirname });
    const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(stdout) ?? [];
    return major === undefined || minor === undefined ? null : [Number(major), Number(minor)];
  } catch {
    // There is no such program in this folder.
    return null;
  }
}
