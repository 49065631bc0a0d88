import { isJsonObject } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import type { Block } from "../../domain/block.ts";
import { equalBeginning } from "../../domain/turn-difference.ts";
import type { EventReader } from "../../log/codec/event-log.ts";
import { forksOf } from "../../log/history/lineage.ts";
import type { BlockChange } from "../../projections/client-turn/blame.ts";
import { lastChange } from "../../projections/client-turn/blame.ts";
import { LoadedPast } from "./past.ts";

/** Where two conversations diverge. */
export type MergeBase = {
  /** The last event that both continue from; null if their lineages share none. */
  readonly event: { readonly stream: string; readonly revision: number } | null;
  /** How many blocks at the beginning of their Turns are equal. */
  readonly blocks: number;
  /** The next block on either side; null where that Turn ends. */
  readonly left: TurnDeparture | null;
  readonly right: TurnDeparture | null;
};

/** The first block that differs, and who last changed it. */
export type TurnDeparture = { readonly block: Block; readonly change: BlockChange | null };

/**
 * Compares two conversations, each at a revision: the events that they share, and the common beginning of their Turns.
 *
 *     const [left, right] = await Promise.all([one, other].map(async (each) => (await each.at(-1)).load()));
 *     const { blocks } = await compareConversations(store.log, left, right);
 *
 * @throws {TypeError} if `log` is not a log, or a revision was not loaded.
 */
export async function compareConversations(
  reader: EventReader,
  left: LoadedPast,
  right: LoadedPast,
): Promise<MergeBase> {
  const log: unknown = reader;
  if (!isJsonObject(log) || !isJsonObject(log["store"]))
    throw new TypeError(`compareConversations: the log is ${kindOf(log)}: give store.log`);
  for (const [name, past] of Object.entries<unknown>({ left, right })) {
    if (past instanceof LoadedPast) continue;
    throw new TypeError(
      `compareConversations: ${name} is ${kindOf(past)}: give a revision with its contents, await (await conversation.at(-1)).load()`,
    );
  }
  const event = lastShared(await stretchesOf(reader, left), await stretchesOf(reader, right));
  const blocks = equalBeginning(left.turn, right.turn);
  return { event, blocks, left: departure(left, blocks), right: departure(right, blocks) };
}

type LineageEnd = { readonly stream: string; readonly revision: number };

const stretchesOf = async (reader: EventReader, { event }: LoadedPast): Promise<readonly LineageEnd[]> => [
  ...(await forksOf(reader, event.stream)),
  event,
];

function lastShared(left: readonly LineageEnd[], right: readonly LineageEnd[]): MergeBase["event"] {
  let shared: MergeBase["event"] = null;
  for (const [index, { stream, revision }] of left.entries()) {
    const other = right[index];
    if (other?.stream !== stream) break;
    shared = { stream, revision: Math.min(revision, other.revision) };
    if (revision !== other.revision) break;
  }
  return shared;
}

function departure({ turn, blames }: LoadedPast, index: number): TurnDeparture | null {
  const block = turn.at(index);
  return block === undefined ? null : { block, change: lastChange(blames, block) };
}
