import type { TurnDifference } from "../../domain/diff-turns.ts";
import { turnDifference } from "../../domain/diff-turns.ts";
import { compareConversations } from "../../engine/lineage/compare.ts";
import type { TurnlogStore } from "../../engine/turnlog-store.ts";
import { blockLabel, counted, printable } from "../../projections/wording.ts";
import { blockData } from "../block-rows.ts";
import { differenceByContent } from "../compared-turns.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation, findRevision } from "../find.ts";
import { type FoundPlace, openPlace, placeName } from "../open-place.ts";
import { parsePlace } from "../revision.ts";

/** What changed between two Turns; 1 when something did. */
export const run: CommandHandler = async (context, { arguments: names }) => {
  await using store = await context.openStore({ mustExist: true });
  const [from, to] = await openBoth(store, names);
  // What two conversations have from one ancestor has one id in both.
  const isOneLineage = (await compareConversations(store.log, from.past, to.past)).event !== null;
  const difference = (isOneLineage ? turnDifference : differenceByContent)(from.past.turn, to.past.turn);
  const { added, removed, modified, moved } = difference;
  const isSame = added.length + removed.length + modified.length + moved.length === 0;
  if (context.isJson) printJson(context, from, to, difference);
  else print(context, from, to, difference);
  return isSame ? exitCodes.ok : exitCodes.failure;
};

/** `A@r B@r`, or a range of one conversation. */
async function openBoth(store: TurnlogStore, names: readonly string[]): Promise<readonly [FoundPlace, FoundPlace]> {
  const [first = "", second] = names;
  if (second !== undefined) return [await openPlace(store, first), await openPlace(store, second)];
  const { conversation: name, at } = parsePlace(first);
  if (at.type !== "range") throw new UsageError("name two revisions: cnv_8f3k@100 cnv_8f3k@120, or cnv_8f3k@100..120");
  const conversation = await findConversation(store, name);
  const open = async (revision: typeof at.from): Promise<FoundPlace> => {
    const past = await (await conversation.at(await findRevision(store, conversation, revision))).load();
    return { conversation, past };
  };
  return [await open(at.from), await open(at.to)];
}

function printJson(context: CliContext, from: FoundPlace, to: FoundPlace, difference: TurnDifference): void {
  const { added, removed, modified, moved } = difference;
  const [before, after] = [from.past.turn, to.past.turn];
  const indexIn = (turn: typeof before, block: (typeof added)[number]): number =>
    turn.blocks.findIndex(({ digest, id }) => id === block.id || digest === block.digest);
  context.printJson({
    from: { conversation: from.conversation.id, revision: from.past.revision, digest: before.digest },
    to: { conversation: to.conversation.id, revision: to.past.revision, digest: after.digest },
    added: added.map((block) => blockData(block, indexIn(after, block))),
    removed: removed.map((block) => blockData(block, indexIn(before, block))),
    modified: modified.map((change) => ({
      before: blockData(change.before, indexIn(before, change.before)),
      after: blockData(change.after, indexIn(after, change.after)),
    })),
    moved: moved.map((block) => blockData(block, indexIn(after, block))),
  });
}

function print(context: CliContext, from: FoundPlace, to: FoundPlace, difference: TurnDifference): void {
  const { style } = context;
  const { added, removed, modified, moved } = difference;
  context.print(
    style.bold(`${placeName(from.conversation, from.past.revision)} > ${placeName(to.conversation, to.past.revision)}`),
  );
  const lines = (mark: string, text: string): string[] =>
    printable(text)
      .split("\n")
      .map((line) => `${mark} ${line}`);
  for (const block of removed) {
    context.print(style.bold(`removed ${blockLabel(block)}`));
    for (const line of lines("-", block.text)) context.print(style.bad(line));
  }
  for (const block of added) {
    context.print(style.bold(`added ${blockLabel(block)}`));
    for (const line of lines("+", block.text)) context.print(style.good(line));
  }
  for (const { before, after } of modified) {
    context.print(style.bold(`modified ${blockLabel(after)}`));
    for (const line of lines("-", before.text)) context.print(style.bad(line));
    for (const line of lines("+", after.text)) context.print(style.good(line));
  }
  for (const block of moved) context.print(style.bold(`moved ${blockLabel(block)}`));
  const counts = [
    `${counted(added.length, "block")} added`,
    `${removed.length} removed`,
    `${modified.length} modified`,
    `${moved.length} moved`,
  ];
  context.note(counts.join(", "));
}
