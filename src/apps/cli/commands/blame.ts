import { blameReport } from "../../../analysis/explain/blame-report.ts";
import { turnSpokenOf } from "../../../analysis/time-travel/place.ts";
import { excerpt, printable } from "../../../base/printable.ts";
import { describeActor } from "../../../domain/actor.ts";
import { idOf } from "../../../domain/block.ts";
import { conversationStream } from "../../../domain/ids.ts";
import type { BlockChange } from "../../../projections/client-turn/blame.ts";
import { blameDocumentOf } from "../../documents/blame-document.ts";
import { type BlameDocument, blameDocument } from "../../documents/conversations.ts";
import type { FoundPlace } from "../../documents/found-place.ts";
import { changedWords, changeWords, eventPlace, placeName } from "../block-rows.ts";
import { commandCode } from "../command.ts";
import type { Screen } from "../context.ts";
import { NotFoundError } from "../exit-codes.ts";
import { onlyOne, openPlace } from "../find.ts";
import { dateAndTime } from "../shown-time.ts";

/** Who made and last changed the blocks of a Turn, and who removed those that are gone. */
export const blame = commandCode({
  document: blameDocument,

  async *run(context, { arguments: [text = "", wanted] }) {
    await using store = await context.openStore("read");
    const place = await openPlace(store, text);
    const only = wanted === undefined ? null : blockIdOf(place, wanted);
    yield blameDocumentOf(place, await blameReport(store.log, place, { only }));
  },

  render(document, screen, { arguments: [, wanted] }) {
    const own = conversationStream(document.conversation);
    screen.print(...changedWords(document.changedEvents, own, screen));
    if (wanted === undefined) renderAll(document, own, screen);
    else renderOne(document, own, screen);
  },
});

/** Finds a block by its place in the Turn, its id, or the beginning of its id. */
function blockIdOf({ past }: FoundPlace, name: string): string {
  if (/^\d+$/.test(name)) {
    const block = turnSpokenOf(past).at(Number(name));
    if (block !== undefined) return idOf(block);
    throw new NotFoundError(`there is no block ${name}: the Turn has the blocks 0 to ${turnSpokenOf(past).length - 1}`);
  }
  const ids = [...past.blames.keys()];
  const found = ids.includes(name) ? [name] : ids.filter((id) => id.startsWith(name));
  const only = onlyOne(found, { name, what: "block" });
  if (only === null) throw new NotFoundError(`no block has the id '${name}' up to revision ${past.revision}`);
  return only;
}

function renderAll({ conversation, revision, blocks, removed }: BlameDocument, own: string, screen: Screen): void {
  const { style, print, table } = screen;
  print(style.bold(placeName(conversation, revision)));
  table([
    ["", "block", "made by", "changed by", ""].map((text) => ({ text, style: style.dim })),
    ...blocks.map(({ index, label, made, changed, erased, text }) => {
      const isChanged = changed !== null && made !== null && eventPlace(changed, own) !== eventPlace(made, own);
      return [
        { text: String(index).padStart(4), style: style.bold },
        label,
        made === null ? "?" : changeWords(made, own),
        {
          text: erased !== null ? `erased by ${changeWords(erased, own)}` : isChanged ? changeWords(changed, own) : "",
          style: style.warn,
        },
        { text: excerpt(text, 160), style: style.dim },
      ];
    }),
  ]);
  if (removed.length === 0) return;
  print(`\n${style.bold("No longer in the Turn")}`);
  table(
    removed.map(({ id, label, made, removed: change, text }) => [
      `  ${label}`,
      made === null ? "?" : changeWords(made, own),
      { text: change === null ? "" : `removed by ${changeWords(change, own)}`, style: style.warn },
      { text: id, style: style.dim },
      { text: excerpt(text ?? "", 160), style: style.dim },
    ]),
  );
}

/** The whole history of one block. */
function renderOne({ blocks, removed }: BlameDocument, own: string, { style, print, table }: Screen): void {
  const [block] = blocks;
  const story = block ?? removed[0];
  if (story === undefined) return;
  const row = (what: string, change: BlockChange, isNow: boolean) => [
    what,
    eventPlace(change, own),
    describeActor(change.actor),
    { text: `${dateAndTime(change.at)}${isNow ? " (now)" : ""}`, style: style.dim },
  ];
  print(`${style.bold(story.label)}  ${style.dim(story.id)}`);
  table([
    ...story.versions.map((version, number) =>
      row(number === 0 ? "made" : "changed", version, version.digest === block?.digest),
    ),
    ...(story.erased === null ? [] : [row("erased", story.erased, false)]),
    ...(story.removed === null ? [] : [row("removed", story.removed, false)]),
  ]);
  if (story.text !== null) print(`\n${printable(story.text)}`);
}
