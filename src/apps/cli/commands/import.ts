import { createReadStream } from "node:fs";
import { basename } from "node:path";
import type * as z from "zod";
import { counted } from "../../../base/counted.ts";
import { linesOf } from "../../../base/lines.ts";
import { commit } from "../../../conversation/commit.ts";

import type { TurnlogStore } from "../../../conversation/turnlog-store.ts";
import { type Block, idOf } from "../../../domain/block.ts";
import { blockFromJson } from "../../../domain/block-json.ts";
import { importOf } from "../../../domain/events/blocks-in.ts";
import { type ConversationId, conversationIdSchema, namedBlockId, namedIdText } from "../../../domain/ids.ts";
import { EventTooLargeError } from "../../../log/ports/store-errors.ts";
import { receiptBegin } from "../../../operations/erasure/receipt.ts";
import { type BundleHeader, bundleSource, readBundleHeader } from "../../../operations/transfer/bundle.ts";
import { copyEvents } from "../../../operations/transfer/copy.ts";
import { type ChatDocument, readChatFile } from "../../../testing/rehearsal/chat-format.ts";
import { blockOf, entriesOf } from "../../../testing/rehearsal/entries.ts";
import { importDocument, type importedChats } from "../../documents/stores.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { CliContext } from "../context.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { newConversationId } from "../find.ts";
import type { Progress } from "../progress.ts";
import { copyReport, copyWords, knownWords } from "./copy.ts";
import { importedWords, importStored, type StoredThere } from "./import-stored.ts";

type Imported = z.infer<typeof importedChats>["conversations"][number];
type Line = z.infer<typeof importedChats>["malformed"][number];

type Options = {
  readonly format?: "chat" | "bundle";
  readonly limit?: number;
  readonly id?: string;
  readonly response?: string;
  readonly conversation?: string;
  readonly stack?: string;
};

/**
 * Imports recorded conversations: those of a bundle as they are, one for each chat document, or one from what a server stores. Ids
 * for chat documents derive from the file's name and the document's id, so that importing a file twice changes nothing, and a file
 * whose conversations have grown adds only what is new.
 */
export const importFile = commandCode({
  document: importDocument,

  async *run(context, { arguments: [file], options }: CommandInput<Options>) {
    const { format, limit, id, stack } = options;
    const stored = storedIn(options);
    if (stored !== null) {
      if (stack === undefined || file !== undefined)
        throw new UsageError(
          "name the server by --stack FILE, a module that exports an `engine`, and no file to import",
        );
      yield await importStored(context, stored, { stack, id });
      return;
    }
    if (file === undefined)
      throw new UsageError(
        "name a file to import, or a response with --response ID --stack FILE, or a conversation object with --conversation ID --stack FILE",
      );
    const first = await firstLine(file);
    const header = format === "chat" ? null : readBundleHeader(first);
    if (header === null && format === "bundle")
      throw new UsageError(`${file} is not a bundle: \`turnlog export\` writes them`);
    if (header !== null) {
      if (id !== undefined) throw new UsageError("conversations in a bundle keep their ids: leave out --id");
      yield await importBundle(context, { file, header });
      return;
    }
    await checkHasChats(file, first);
    const wanted = id === undefined ? null : await onlyOf(file, newConversationId(id));
    const report = await context.progress("importing", (update) =>
      importChats(context, { file, limit, id: wanted, update }),
    );
    for (const { line, message } of report.malformed) context.note(`${file}, line ${line}: ${message}`);
    if (report.conversations.length === 0) context.note(`no conversation was imported from ${file}`);
    yield report;
    if (context.signal.aborted) return exitCodes.interrupted;
    return report.malformed.length > 0 || report.conversations.length === 0 ? exitCodes.failure : exitCodes.ok;
  },

  render(report, { print }) {
    if ("lost" in report) print(...importedWords(report));
    else print("malformed" in report ? summary(report.conversations) : copyWords(report, "imported"));
  },
});

function storedIn({ response, conversation }: Options): StoredThere | null {
  if (response !== undefined) return { kind: "response", id: response };
  return conversation === undefined ? null : { kind: "conversation", id: conversation };
}

/** Imports a bundle's conversations under their own names. Writes nothing of an incomplete bundle. */
async function importBundle(
  context: CliContext,
  { file, header }: { readonly file: string; readonly header: BundleHeader },
) {
  if (header.isRedacted)
    throw new UsageError(
      `${file} is a redacted bundle, which has no texts: import a bundle that was exported without --redact`,
    );
  const { signal } = context;
  const source = bundleSource(header, () => linesOf(textOf(file)));
  // Reads the bundle to its end before opening a store, which might be created for it.
  for await (const _ of source.events()) signal.throwIfAborted();
  await using store = await context.openStore("create");
  const copied = await context.progress("importing", (onProgress) =>
    copyEvents(source, store.events, { signal, onProgress }),
  );
  return copyReport(copied);
}

/** The beginning of a file, up to its first line feed, which shows its format. */
async function firstLine(file: string): Promise<string> {
  for await (const line of linesOf(textOf(file))) return line;
  return "";
}

/** Opened lazily, so that an early error leaves no file open. */
async function* textOf(file: string): AsyncIterable<string> {
  yield* createReadStream(file, { encoding: "utf8" });
}

/**
 * A file of another kind is named at once: its lines would each be an error, and a store might be created for it.
 *
 * @throws {UsageError} if the file has lines, and none is a conversation.
 */
async function checkHasChats(file: string, first: string): Promise<void> {
  if (first.startsWith(receiptBegin))
    throw new UsageError(`${file} is the receipt of an erasure: \`turnlog verify --receipt ${file}\` checks it`);
  let wrong: string | null = null;
  for await (const line of await readChatFile(file)) {
    if (line.status === "document") return;
    wrong ??= `line ${line.line}: ${line.message}`;
  }
  if (wrong === null) return;
  throw new UsageError(
    `${file} is neither a bundle nor a file of conversations, which has one JSON document {id, messages} per line (${wrong})`,
  );
}

/** An id names one conversation, so a file with several is rejected before any is written. */
async function onlyOf(file: string, id: ConversationId): Promise<ConversationId> {
  let documents = 0;
  for await (const line of await readChatFile(file)) {
    documents += line.status === "malformed" ? 0 : 1;
    if (documents > 1) throw new UsageError(`${file} holds several conversations, but --id names one: leave out --id`);
  }
  return id;
}

async function importChats(
  context: CliContext,
  {
    file,
    limit = Number.POSITIVE_INFINITY,
    id,
    update,
  }: {
    readonly file: string;
    readonly limit: number | undefined;
    readonly id: ConversationId | null;
    readonly update: Progress["update"];
  },
) {
  const lines = await readChatFile(file);
  const conversations: Imported[] = [];
  const malformed: Line[] = [];
  await using store = await context.openStore("create");
  for await (const line of lines) {
    if (context.signal.aborted) break;
    const taken = line.status === "malformed" ? line : await take(store, { source: basename(file), id }, line);
    if ("message" in taken) malformed.push({ line: taken.line, message: taken.message });
    else conversations.push(taken);
    update(conversations.length);
    if (conversations.length >= limit) break;
  }
  return { conversations, malformed };
}

function summary(imported: readonly Imported[]): string {
  const isNew = imported.filter(({ blocks }) => blocks > 0);
  const blocks = isNew.reduce((sum, each) => sum + each.blocks, 0);
  const known = knownWords(imported.length - isNew.length);
  return `${counted(isNew.length, "conversation")} imported, ${counted(blocks, "block")}${known}`;
}

/** Appends the blocks of a document that the store does not have yet, in one append. */
async function take(
  store: TurnlogStore,
  { source, id: wanted }: { readonly source: string; readonly id: ConversationId | null },
  { line, document }: { readonly line: number; readonly document: ChatDocument },
): Promise<Imported | Line> {
  const id = wanted ?? conversationIdSchema.parse(`cnv_${namedIdText(importName(source, document.id))}`);
  const blocks = blocksOf(document, id);
  const held = await importedBlocks(store, id);
  const other = blocks.findIndex((block) => (held.get(idOf(block)) ?? block.digest) !== block.digest);
  if (other >= 0) {
    const message = `${document.id} was already imported as ${id}, and its block ${other} had another text then`;
    return { line, message: `${message}; give the file another name to import it anew` };
  }
  const missing = blocks.filter((block) => !held.has(idOf(block)));
  try {
    await store.conversation(id)[commit](importOf(source, missing, document.id));
  } catch (error) {
    if (error instanceof EventTooLargeError) return { line, message: `${document.id} is too big: ${error.message}` };
    throw error;
  }
  return { id, document: document.id, blocks: missing.length };
}

/** The digests of the blocks that earlier imports appended, by id. */
async function importedBlocks(store: TurnlogStore, id: ConversationId): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>();
  for await (const { event } of store.conversation(id).events()) {
    if (event.type === "BlockAppended") digests.set(event.data.block.id, blockFromJson(event.data.block).digest);
  }
  return digests;
}

function blocksOf({ messages }: ChatDocument, id: ConversationId): readonly Block[] {
  const open: string[] = [];
  const entries = messages.flatMap((message) => entriesOf(message, open));
  // No chat message holds reasoning.
  const made = entries.filter((entry) => entry.kind !== "reasoning");
  return made.map((entry, index) => blockOf(entry).withId(namedBlockId(importName(id, index))));
}

const importName = (...names: readonly unknown[]): string => ["turnlog/import/v1", ...names].join("\n");
