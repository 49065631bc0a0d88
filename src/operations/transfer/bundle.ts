import { createHash } from "node:crypto";
import * as z from "zod";
import { sha256Schema } from "../../domain/ids.ts";
import { envelopeSchema } from "../../log/codec/envelope.ts";
import { namingKeyPattern } from "../../log/codec/stream-names.ts";
import type { Envelope } from "../../log/ports/event-store.ts";
import { StoreCorruptedError } from "../../log/ports/store-errors.ts";
import { type CopySource, createSourceCheck, type SourceCheck } from "./copy-source.ts";
import { redactEvent } from "./redact.ts";

const format = "turnlog-bundle";
const endFormat = "turnlog-bundle-end";

/** The beginning of every bundle. */
export const bundleBegin = `{"format":"${format}",`;

/** The first line: the conversations and their heads. */
const headerSchema = z.strictObject({
  format: z.literal(format),
  /** Version 1 has no keys. */
  version: z.literal([1, 2]),
  /** The store that they come from. */
  storeId: z.string(),
  /** Content was replaced by its lengths and hashes: the bundle can be read, but not imported. */
  isRedacted: z.boolean(),
  heads: z.array(z.strictObject({ stream: z.string().min(1), revision: z.int().nonnegative(), digest: sha256Schema })),
  /** The naming keys of conversations in lines, by stream. A redacted bundle has none: with a key, short texts could be guessed. */
  keys: z.exactOptional(z.record(z.string().min(1), z.string().regex(namingKeyPattern))),
});
export type BundleHeader = z.infer<typeof headerSchema>;

/** The last line: the number of events, and the sha256 of all lines before, line feeds included. */
const endSchema = z.strictObject({
  format: z.literal(endFormat),
  events: z.int().nonnegative(),
  sha256: sha256Schema,
});

/**
 * A bundle's lines, each with its line feed: a header with the heads, the unchanged events, and an end that proves that
 * nothing is missing.
 *
 * @throws {StoreCorruptedError} if the source is damaged; the lines before that have no end.
 */
export async function* bundleLines(
  source: CopySource,
  { storeId, isRedacted }: Pick<BundleHeader, "storeId" | "isRedacted">,
): AsyncIterable<string> {
  const hash = createHash("sha256");
  const line = (value: object): string => {
    const text = `${JSON.stringify(value)}\n`;
    hash.update(text);
    return text;
  };
  const heads = source.heads.map(({ stream, head }) => ({ stream, ...head }));
  const keys = isRedacted || source.keys.size === 0 ? {} : { keys: Object.fromEntries(source.keys) };
  yield line({ format, version: 2, storeId, isRedacted, heads, ...keys } satisfies BundleHeader);
  let events = 0;
  for await (const envelope of source.events()) {
    events += 1;
    yield line(isRedacted ? redactEvent(envelope) : envelope);
  }
  const sha256 = hash.digest("hex");
  yield `${JSON.stringify({ format: endFormat, events, sha256 })}\n`;
}

/** The header of a bundle; null if the line is from another kind of file. */
export function readBundleHeader(line: string): BundleHeader | null {
  const value = parse(line);
  if (typeof value !== "object" || value === null || !("format" in value) || value.format !== format) return null;
  const parsed = headerSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw damaged(1, `its header cannot be read (${z.prettifyError(parsed.error)}): a newer turnlog may have written it`);
}

/** The events of a bundle that is not redacted. Each call of `lines` returns its lines from the first one. */
export function bundleSource(header: BundleHeader, lines: () => AsyncIterable<string>): CopySource {
  const heads = header.heads.map(({ stream, revision, digest }) => ({ stream, head: { revision, digest } }));
  const keys = new Map(Object.entries(header.keys ?? {}));
  const events = (): AsyncIterable<Envelope> =>
    readEvents(lines(), { read: envelopeSchema, check: createSourceCheck(heads), consequence: notImported });
  return { heads, events, keys };
}

type Reading<Event extends Envelope> = {
  readonly read: z.ZodType<Event>;
  readonly check: SourceCheck;
  /** What the error adds about a damaged line. */
  readonly consequence: string;
};

/**
 * The events of a bundle, each checked.
 *
 * @throws {StoreCorruptedError} at the first line that is not what was written.
 */
export async function* readEvents<Event extends Envelope>(
  lines: AsyncIterable<string>,
  { read, check, consequence }: Reading<Event>,
): AsyncGenerator<Event> {
  const hash = createHash("sha256");
  let number = 0;
  let isEnded = false;
  const bad = (reason: string): StoreCorruptedError => damaged(number, reason, consequence);
  for await (const line of lines) {
    number += 1;
    // After the last line feed.
    if (line === "") continue;
    if (isEnded) throw bad("it stands after the end");
    const value = parse(line);
    const end = endSchema.safeParse(value);
    if (end.success) {
      const ended = check.end();
      if (!ended.ok) throw bad(ended.error);
      const isWhole = end.data.events === number - 2 && end.data.sha256 === hash.digest("hex");
      if (!isWhole) throw bad("the lines before it are not those that were written");
      isEnded = true;
      continue;
    }
    hash.update(`${line}\n`);
    if (number === 1) continue;
    const envelope = read.safeParse(value);
    if (!envelope.success) throw bad(value === null ? "it was cut or changed" : "it is no event");
    const checked = check.take(envelope.data);
    if (!checked.ok) throw bad(checked.error);
    yield envelope.data;
  }
  if (!isEnded) throw bad("the bundle ends here, and its end is missing");
}

const notImported = "nothing was imported: take the bundle from its source again";

const damaged = (line: number, reason: string, consequence = notImported): StoreCorruptedError =>
  new StoreCorruptedError(`line ${line} of the bundle: ${reason}${consequence === "" ? "" : `; ${consequence}`}`);

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
