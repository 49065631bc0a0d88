import { basename } from "node:path";
import { sha256Hex } from "../../base/sha256.ts";
import { readBundleHeader } from "../../carry/bundle.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import { blockFromJson, blockToJson } from "../../domain/block-json.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import { blockIdSchema, type ConversationId, conversationIdSchema } from "../../domain/ids.ts";
import { EventTooLargeError } from "../../log/ports/event-store.ts";
import { counted, grouped } from "../../projections/wording.ts";
import { type ChatDocument, readChatFile } from "../../rehearsal/chat-format.ts";
import { blockOf, entriesOf } from "../../rehearsal/entries.ts";
import type { CliContext, CommandHandler, CommandOptions } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit-codes.ts";
import { firstLine, importBundle } from "../import-bundle.ts";
import { choiceOption, numberOption } from "../options.ts";

type Line = { readonly line: number; readonly message: string };
type Imported = {
  readonly id: ConversationId;
  /** The document's own id. */
  readonly document: string;
  /** How many blocks were appended: none where the conversation was there already. */
  readonly blocks: number;
};

/**
 * Takes recorded conversations into the store: those of a bundle as they are, or one for each chat document. Ids of the
 * latter follow from the file's name and the document's id, so that the same file twice is one import, and a file whose
 * conversations have grown adds what is new.
 */
export const run: CommandHandler = async (context, input) => {
  const [file = ""] = input.arguments;
  const format = choiceOption(input.options, "format", ["bundle", "chat"]);
  const header = format === "chat" ? null : readBundleHeader(await firstLine(file));
  if (header !== null) return importBundle(context, file, header);
  if (format === "bundle") throw new UsageError(`${file} is no bundle: \`turnlog export\` writes them`);
  return importChats(context, file, input.options);
};

async function importChats(context: CliContext, file: string, options: CommandOptions): Promise<ExitCode> {
  const limit = numberOption(options, "limit", { least: 1 }) ?? Number.POSITIVE_INFINITY;
  const lines = await readChatFile(file);
  const imported: Imported[] = [];
  const malformed: Line[] = [];
  const progress = context.progress("importing");
  await using store = await context.openStore({ mustExist: false });
  for await (const line of lines) {
    if (context.signal.aborted) break;
    const taken = line.status === "malformed" ? line : await take(store, basename(file), line);
    if ("message" in taken) malformed.push({ line: taken.line, message: taken.message });
    else imported.push(taken);
    progress.update(imported.length);
    if (imported.length >= limit) break;
  }
  progress.end();
  for (const { line, message } of malformed) context.note(`${file}, line ${line}: ${message}`);
  if (imported.length === 0) context.note(`no conversation was imported from ${file}`);
  if (context.isJson) context.printJson({ conversations: imported, malformed });
  else context.print(summary(imported));
  if (context.signal.aborted) return exitCodes.interrupted;
  return malformed.length > 0 || imported.length === 0 ? exitCodes.failure : exitCodes.ok;
}

function summary(imported: readonly Imported[]): string {
  const isNew = imported.filter(({ blocks }) => blocks > 0);
  const blocks = isNew.reduce((sum, each) => sum + each.blocks, 0);
  const known = imported.length - isNew.length;
  const others = known === 0 ? "" : `; ${grouped(known)} there already`;
  return `${counted(isNew.length, "conversation")} imported, ${counted(blocks, "block")}${others}`;
}

const actor: Actor = { kind: "import" };

/** Appends what of a document the store does not hold yet, in one append. */
async function take(
  store: TurnlogStore,
  source: string,
  { line, document }: { readonly line: number; readonly document: ChatDocument },
): Promise<Imported | Line> {
  const id = conversationIdSchema.parse(`cnv_${idText(`${source}\n${document.id}`)}`);
  const blocks = blocksOf(document, id);
  const held = await importedBlocks(store, id);
  const other = blocks.findIndex((block) => (held.get(idOf(block)) ?? block.digest) !== block.digest);
  if (other >= 0) {
    const message = `${document.id} was imported before as ${id}, and its block ${other} said something else then`;
    return { line, message: `${message}; give the file another name to import it anew` };
  }
  const missing = blocks.filter((block) => !held.has(idOf(block)));
  const origin = { type: "import", source } as const;
  try {
    await store.conversation(id).commit([
      { event: { type: "ConversationStarted", version: 1, data: { origin, title: document.id } }, actor },
      ...missing.map(
        (block): ProposedEvent => ({
          event: { type: "BlockAppended", version: 1, data: { block: blockToJson(block) } },
          actor,
        }),
      ),
    ]);
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
  return made.map((entry, index) => blockOf(entry).withId(blockIdSchema.parse(`blk_${idText(`${id}\n${index}`)}`)));
}

const idText = (name: string): string => sha256Hex(`turnlog/import/v1\n${name}`).slice(0, 21);
