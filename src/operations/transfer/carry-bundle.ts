import { jsonOf, objectOf, textOrNull } from "../../base/json.ts";
import { linesOf } from "../../base/lines.ts";
import { anything, checkFlag, checkFunction, optionsOf } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { ConversationId } from "../../domain/ids.ts";
import { orderStreams } from "../../log/system-streams/exports.ts";
import { bundleLines, bundleSource, readBundleHeader } from "./bundle.ts";
import {
  type CopiedStream,
  type CopyOptions,
  carriedIn,
  checkOpenStores,
  copyEvents,
  copyOptions,
  type OpenStore,
  recordCarried,
} from "./copy.ts";
import { type CopySource, openStoreSource } from "./copy-source.ts";

export type ExportOptions = {
  /** The conversations, with their blobs and ancestors. Default: all. */
  readonly conversations?: readonly ConversationId[];
  /** Replaces content by lengths and hashes: the bundle can be read, but not imported. */
  readonly redact?: boolean;
  /** Called with the reason if the bundle could not be recorded in its store (`ExportMade`): an erasure there will not list it. */
  readonly onUnrecorded?: (reason: string) => void;
};

const exportOptions = optionsOf<ExportOptions>({ conversations: anything, redact: checkFlag, onUnrecorded: anything });

/**
 * Conversations as the text of one bundle, line by line, each with its line feed: what `turnlog export` writes.
 *
 *     await writeFile("talk.bundle", exportBundle(store, { conversations: [conversation.id] }));
 *
 * @throws {StoreCorruptedError} if the store is damaged; the lines before that have no end, so they cannot be imported.
 */
export async function* exportBundle(from: OpenStore, options: ExportOptions = {}): AsyncGenerator<string, void> {
  exportOptions.check("exportBundle", options);
  checkOpenStores("exportBundle takes an open store", "it", [from]);
  const { conversations = null, redact = false } = options;
  const source = await openStoreSource(from.events, options.conversations);
  yield* recordedBundle(from, source, { ...options, conversations, redact });
}

/** The lines of a bundle. Once all are read, the store records that the conversations have left it. */
export async function* recordedBundle(
  from: OpenStore,
  source: CopySource,
  {
    conversations,
    redact: isRedacted,
    isMasked = false,
    onUnrecorded,
  }: {
    readonly conversations: readonly ConversationId[] | null;
    readonly redact: boolean;
    /** The lines are replaced by masked ones: what leaves the store is not this bundle. */
    readonly isMasked?: boolean;
    readonly onUnrecorded?: (reason: string) => void;
  },
): AsyncGenerator<string, void> {
  const ordersBefore = await orderStreams(from.events);
  let last = "";
  for await (const line of bundleLines(source, { storeId: from.events.storeId, isRedacted })) {
    last = line;
    yield line;
  }
  const sha256 = isMasked ? null : textOrNull(objectOf(jsonOf(last))["sha256"]);
  const made = { kind: "bundle", isRedacted, sha256, storeId: null } as const;
  const about = { ...made, conversations: conversations && carriedIn(source) };
  await recordCarried(from, about, { ordersBefore, onUnrecorded });
}

/**
 * Imports the conversations of a bundle into a store under their own ids, as `turnlog import` does. Events that the store already has
 * stay unchanged.
 *
 *     await importBundle(() => createReadStream("talk.bundle", "utf8"), store);
 *
 * @param read - Returns the bundle's text from its beginning, in pieces of any size, each time it is called.
 * @throws {TurnlogError} `bundle-unusable` if the text is not a bundle, or is a redacted one; `copy-diverged` if the store has other
 *   events in a stream. Nothing was written then.
 * @throws {StoreCorruptedError} if the bundle is damaged; nothing was written then.
 */
export async function importBundle(
  read: () => AsyncIterable<string>,
  to: OpenStore,
  options: CopyOptions = {},
): Promise<readonly CopiedStream[]> {
  checkFunction("importBundle: what reads the bundle", read);
  copyOptions.check("importBundle", options);
  checkOpenStores("importBundle takes an open store", "it", [to]);
  const lines = (): AsyncIterable<string> => linesOf(read());
  const header = readBundleHeader(await firstOf(lines()));
  if (header === null || header.isRedacted) {
    const why =
      header === null ? "this text is no bundle: give one that exportBundle or `turnlog export` wrote" : redacted;
    throw new TurnlogError("bundle-unusable", `importBundle: ${why}`);
  }
  return copyEvents(bundleSource(header, lines), to.events, options);
}

const redacted = "this bundle is redacted, and its texts are gone: import one that was exported without `redact`";

async function firstOf(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) return line;
  return "";
}
