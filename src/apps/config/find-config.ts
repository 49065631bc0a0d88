import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { ConfigError } from "./config-error.ts";

/** The files of a configuration, which are in one folder. Of the code only what is asked for is executed. */
export type ConfigFiles = {
  readonly folder: string;
  /** The file of data, which every command reads; null if there is none. */
  readonly json: string | null;
  /** The module, which is executed only by commands that may need an engine; null if there is none. */
  readonly code: string | null;
};

const codeNames = ["turnlog.config.ts", "turnlog.config.mts", "turnlog.config.js", "turnlog.config.mjs"] as const;
const jsonName = "turnlog.config.json";

/**
 * Finds the configuration of a folder: in it, or in the nearest folder above that has one, up to the nearest package.json. Without a
 * package.json only the folder itself counts, because a folder above may belong to somebody else.
 *
 * @throws {ConfigError} if a folder has two modules.
 */
export function findConfig(start: string): ConfigFiles | null {
  const root = projectOf(start);
  for (let folder = start; ; folder = dirname(folder)) {
    const found = filesIn(folder);
    if (found !== null) return found;
    if (root === null || folder === root) return null;
  }
}

/** The folder of the nearest package.json. */
function projectOf(start: string): string | null {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (dirname(folder) === folder) return null;
  }
}

function filesIn(folder: string): ConfigFiles | null {
  const has = (name: string): boolean => existsSync(join(folder, name));
  const [code, second] = codeNames.filter(has);
  if (code !== undefined && second !== undefined)
    throw new ConfigError(`${folder} has ${code} and ${second}: keep one of them, or name one with --config`);
  const json = has(jsonName) ? join(folder, jsonName) : null;
  if (code === undefined && json === null) return null;
  return { folder, json, code: code === undefined ? null : join(folder, code) };
}

/** A file that the caller names: it alone is the configuration. */
export const namedConfig = (file: string): ConfigFiles => {
  const isJson = file.endsWith(".json");
  return { folder: dirname(file), json: isJson ? file : null, code: isJson ? null : file };
};
