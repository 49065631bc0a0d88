import { compareConversations, type MergeBase } from "../../conversation/compare.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import { actorLabel, blockLabel, counted, excerpt } from "../../projections/wording.ts";
import { blockData } from "../block-rows.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { eventPlace, type FoundPlace, openPlace, placeName } from "../open-place.ts";
import { type Cell, tableLines } from "../table.ts";

/** Where two conversations part; 1 when their Turns do. */
export const run: CommandHandler = async (context, { arguments: [leftName = "", rightName = ""] }) => {
  await using store = await context.openStore({ mustExist: true });
  const [left, right] = [await openPlace(store, leftName), await openPlace(store, rightName)];
  const parting = await compareConversations(store.log, left.past, right.past);
  if (context.isJson) printJson(context, parting, { left, right });
  else print(context, parting, { left, right });
  return parting.left === null && parting.right === null ? exitCodes.ok : exitCodes.failure;
};

type Both = { readonly left: FoundPlace; readonly right: FoundPlace };
type Side = keyof Both;

function printJson(context: CliContext, parting: MergeBase, both: Both): void {
  const side = (name: Side) => {
    const { conversation, past } = both[name];
    const departure = parting[name];
    return {
      conversation: conversation.id,
      revision: past.revision,
      digest: past.turn.digest,
      block: departure === null ? null : blockData(departure.block, parting.blocks),
      change: departure?.change ?? null,
    };
  };
  const { event, blocks } = parting;
  context.printJson({ event, blocks, left: side("left"), right: side("right") });
}

function print(context: CliContext, parting: MergeBase, both: Both): void {
  const { style } = context;
  const { event, blocks } = parting;
  const of = event === null ? null : `${conversationOfStream(event.stream) ?? event.stream}@${event.revision}`;
  context.print(style.bold(of === null ? "they share no event" : `both go on from ${of}`));
  context.print(
    blocks === 0 ? "their Turns differ from the first block on" : `their first ${counted(blocks, "block")} are equal`,
  );
  const row = (name: Side): readonly Cell[] => {
    const { conversation, past } = both[name];
    const departure = parting[name];
    const place = { text: placeName(conversation, past.revision), style: style.bold };
    if (departure === null) return [place, { text: "ends there", style: style.dim }];
    const { block, change } = departure;
    const who = change === null ? "" : `${actorLabel(change.actor)} ${eventPlace(change, past.event.stream)}`;
    return [place, blockLabel(block), { text: who, style: style.dim }, excerpt(block.text, 160)];
  };
  if (parting.left === null && parting.right === null) return;
  for (const line of tableLines([row("left"), row("right")], context)) context.print(line);
}
