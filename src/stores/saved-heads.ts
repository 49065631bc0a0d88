import * as z from "zod";
import { sha256Schema } from "../domain/ids.ts";
import type { Head } from "../log/ports/event-store.ts";

/** Heads kept outside a store, to show whether the store lost its newest events. */
export type SavedHeads = { readonly storeId: string; readonly heads: ReadonlyMap<string, Head> };

/** The newest event of a whole log. */
export type LogEnd = z.infer<typeof endSchema>;

const format = "turnlog-heads";
const headerSchema = z.strictObject({ format: z.literal(format), version: z.literal(1), storeId: z.string() });
const headSchema = z.strictObject({ stream: z.string(), revision: z.int().nonnegative(), digest: sha256Schema });
/** The end of the log when all heads were saved. */
const endSchema = z.strictObject({ position: z.string().regex(/^\d+$/), digest: z.string() });
const lineSchema = z.union([headSchema, endSchema]);

/** The beginning of every file of heads. */
export const headsBegin = `{"format":"${format}",`;

/** The first line of a file of heads. A later line of a stream replaces an earlier one, so lines can be appended. */
export const headerLine = (storeId: string): string =>
  lineOf({ format, version: 1, storeId } satisfies z.infer<typeof headerSchema>);
export const headLine = (stream: string, { revision, digest }: Head): string => lineOf({ stream, revision, digest });
export const endLine = ({ position, digest }: LogEnd): string => lineOf({ position, digest });

/** Parses a file of heads, and counts invalid lines; null if it is another kind of file. */
export function parseHeads(
  text: string,
): (SavedHeads & { readonly end: LogEnd | null; readonly unreadable: number }) | null {
  const [first = "", ...lines] = text.split("\n");
  const header = headerSchema.safeParse(parseJson(first));
  if (!header.success) return null;
  const heads = new Map<string, Head>();
  let end: LogEnd | null = null;
  let unreadable = 0;
  for (const line of lines) {
    if (line === "") continue;
    const parsed = lineSchema.safeParse(parseJson(line));
    if (!parsed.success) unreadable += 1;
    else if ("position" in parsed.data) end = parsed.data;
    else heads.set(parsed.data.stream, { revision: parsed.data.revision, digest: parsed.data.digest });
  }
  return { storeId: header.data.storeId, heads, end, unreadable };
}

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
