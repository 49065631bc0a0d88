import { TurnlogError } from "../base/turnlog-error.ts";
import type { Actor } from "../domain/actor.ts";
import { type Block, idOf } from "../domain/block.ts";
import { blockFromJson } from "../domain/block-json.ts";
import { blockAppending } from "../domain/events/blocks-in.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { BlockId } from "../domain/ids.ts";
import { type ConversationWriter, streamContended } from "../log/writer/conversation-writer.ts";
import { isResult, mustAnswerOpenCalls } from "./awaited-results.ts";
import type { Appended } from "./conversation-options.ts";
import { settleExternal } from "./external-results.ts";

type Appending = {
  readonly actor: Actor;
  /** The caller's key of the message, and the id that a block after the last one would have under it; null without a key. */
  readonly keyed: { readonly key: string; readonly beyond: BlockId } | null;
  /** Whether the ids are certainly new. */
  readonly isIdNew: boolean;
};

/** How often an append starts over because the Turn changed while it was compared. */
const maxBeginnings = 50;

/**
 * Appends blocks from outside a run. If the key was used before, returns what was recorded then.
 *
 * @throws {TurnlogError} `key-reused` if something else was appended under the key; nothing is appended then.
 * @throws {TurnlogError} `no-open-call` for a tool result that answers no open call.
 */
export async function appendBlocks(
  stream: ConversationWriter,
  blocks: readonly Block[],
  appending: Appending,
): Promise<Appended> {
  const { keyed, actor, isIdNew } = appending;
  const external = blocks.every(isResult) ? await settleExternal(stream, blocks, actor) : null;
  if (external !== null) return external;
  const entries = blocks.map((block) => ({ event: blockAppending(block), actor, isIdNew }));
  const hasResults = blocks.some(isResult);
  for (let beginning = 1; beginning <= maxBeginnings; beginning += 1) {
    const known = hasResults || blocks.length > 1 ? await recordedBefore(stream, blocks, keyed) : [];
    const isUnmoved = hasResults ? await mustAnswerOpenCalls(stream, blocks.slice(known.length)) : () => true;
    let isRefused = false;
    const result = await stream
      .commit(entries, (view) => {
        isRefused = !isUnmoved(view);
        if (isRefused) throw new Error("the Turn has changed since the results were compared with it");
      })
      .catch((error: unknown) => {
        if (!isRefused) throw error;
        return null;
      });
    if (result === null) continue;
    if (result.status === "rejected") throw new Error(`refused: ${JSON.stringify(result.rejection)}`);
    const isNew = result.events.some(isAppending);
    if (isNew && known.length === 0) return { blocks, isNew };
    return { blocks: await recordedBefore(stream, blocks, keyed), isNew };
  }
  throw streamContended(stream.name);
}

const isAppending = ({ event }: RecordedEvent): boolean => event.type === "BlockAppended";

/**
 * Returns the blocks that were appended under their key before, from the first one: a message that is too big for one append may be
 * stored in part.
 *
 * @throws {TurnlogError} `key-reused` if they say something else, or there were more of them. Their actor does not matter.
 */
async function recordedBefore(
  stream: ConversationWriter,
  blocks: readonly Block[],
  keyed: Appending["keyed"],
): Promise<readonly Block[]> {
  if (keyed === null) return [];
  await stream.refresh();
  const recorded: Block[] = [];
  for (const [index, block] of blocks.entries()) {
    const before = await recordedUnder(stream, idOf(block));
    if (before === null) break;
    // What was erased is not compared: the message was delivered.
    if (!before.isErased && before.digest !== block.digest) throw keyReused(keyed.key, `block ${index} differs`);
    recorded.push(before);
  }
  if (recorded.length === blocks.length && (await recordedUnder(stream, keyed.beyond)) !== null)
    throw keyReused(
      keyed.key,
      `more than ${blocks.length === 1 ? "one block was" : `${blocks.length} blocks were`} appended then`,
    );
  return recorded;
}

async function recordedUnder(stream: ConversationWriter, id: BlockId): Promise<Block | null> {
  const event = (await stream.appended(id))?.event;
  return event?.type === "BlockAppended" ? blockFromJson(event.data.block) : null;
}

const keyReused = (key: string, why: string): TurnlogError =>
  new TurnlogError(
    "key-reused",
    `append: the key "${key}" belongs to another message: ${why}; give each message its own key, and append a repeated message with the same content`,
  );
