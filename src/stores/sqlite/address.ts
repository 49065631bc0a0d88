import { checkWhole } from "../../base/options.ts";

/** The file that an address names, and the settings in the address. */
export type SqliteFile = { readonly path: string; readonly settings: { readonly deadlineMs?: number } };

/**
 * Parses `sqlite:path` and `sqlite:path?deadlineMs=2000`; null for another kind of address. Any other question mark is part of the
 * path.
 *
 * @throws {RangeError} if the deadline is not a whole number from 1 on.
 */
export function sqliteFile(url: string): SqliteFile | null {
  const [, path, deadlineMs] = /^sqlite:(.+?)(?:\?deadlineMs=([^?]*))?$/s.exec(url) ?? [];
  if (path === undefined) return null;
  if (deadlineMs === undefined) return { path, settings: {} };
  const given = /^\d+$/.test(deadlineMs) ? Number(deadlineMs) : deadlineMs;
  checkWhole("the address of the store: deadlineMs", given);
  return { path, settings: { deadlineMs: Number(given) } };
}
