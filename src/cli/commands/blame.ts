import { describeActor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import type { Blame, Change } from "../../projections/blame.ts";
import { lastChange } from "../../projections/blame.ts";
import { noLabels, noteLabels } from "../../projections/timeline.ts";
import { actorLabel, blockLabel, excerpt, printable } from "../../projections/wording.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { NotFoundError, UsageError } from "../exit-codes.ts";
import { eventPlace, type FoundPlace, openPlace, placeName, turnSpokenOf } from "../open-place.ts";
import { tableLines } from "../table.ts";

/** Who made and last changed the blocks of a Turn, and who took out those that are gone. */
export const run: CommandHandler = async (context, { arguments: [text = "", wanted] }) => {
  await using store = await context.openStore({ mustExist: true });
  let { labels } = noLabels();
  const place = await openPlace(store, text, () => {
    const known = noLabels();
    ({ labels } = known);
    return (recorded) => {
      noteLabels(known, recorded);
    };
  });
  const only = wanted === undefined ? null : blockIdOf(place, wanted);
  if (context.isJson) printJson(context, place, only, labels);
  else if (only === null) printAll(context, place, labels);
  else printOne(context, place, only, labels);
};

type Labels = ReadonlyMap<string, string>;

/** A block is named by its place in the Turn, its id, or the beginning of its id. */
function blockIdOf({ past }: FoundPlace, name: string): string {
  if (/^\d+$/.test(name)) {
    const block = turnSpokenOf(past).at(Number(name));
    if (block !== undefined) return idOf(block);
    throw new NotFoundError(`there is no block ${name}: the Turn has the blocks 0 to ${turnSpokenOf(past).length - 1}`);
  }
  const ids = [...past.view.client.blame.keys()];
  const found = ids.includes(name) ? [name] : ids.filter((id) => id.startsWith(name));
  const [only] = found;
  if (only === undefined) throw new NotFoundError(`no block has the id '${name}' up to revision ${past.revision}`);
  if (found.length > 1) throw new UsageError(`'${name}' is the beginning of ${found.length} blocks' ids`);
  return only;
}

type Removed = Blame & { readonly id: string; readonly removed: Change };

/** What is no longer in the Turn; while a run is open, what its layers have left out so far as well. */
function removedOf({ past }: FoundPlace): readonly Removed[] {
  const { blame, run } = past.view.client;
  const present = new Set<string>(turnSpokenOf(past).blocks.map(idOf));
  return [...blame].flatMap(([id, story]) => {
    const removed = run?.removed.get(id) ?? story.removed;
    return removed === null || present.has(id) ? [] : [{ ...story, id, removed }];
  });
}

function printJson(context: CliContext, place: FoundPlace, only: string | null, labels: Labels): void {
  const { conversation, past } = place;
  const { blame } = past.view.client;
  const gone = new Map(removedOf(place).map((block) => [block.id, block.removed]));
  const story = (id: string) => {
    const found = blame.get(id);
    const versions = (found?.versions ?? []).map(({ digest, change }) => ({ digest, ...change }));
    return { made: found?.made ?? null, versions, removed: gone.get(id) ?? null };
  };
  const blocks = turnSpokenOf(past).blocks.map((block, index) => {
    const id = idOf(block);
    return {
      index,
      id,
      label: labels.get(id) ?? block.kind,
      digest: block.digest,
      ...story(id),
      changed: lastChange(blame, block),
    };
  });
  const removed = [...gone.keys()].map((id) => ({ id, label: labels.get(id) ?? "block", ...story(id) }));
  context.printJson({
    conversation: conversation.id,
    revision: past.revision,
    blocks: blocks.filter(({ id }) => only === null || id === only),
    removed: removed.filter(({ id }) => only === null || id === only),
  });
}

const short = (change: Change, own: string): string => `${actorLabel(change.actor)} ${eventPlace(change, own)}`;

function printAll(context: CliContext, place: FoundPlace, labels: Labels): void {
  const { style } = context;
  const { past, conversation } = place;
  const { blame } = past.view.client;
  const own = past.event.stream;
  const row = (block: Block, index: number) => {
    const id = idOf(block);
    const made = blame.get(id)?.made ?? null;
    const changed = lastChange(blame, block);
    const isChanged = changed !== null && made !== null && eventPlace(changed, own) !== eventPlace(made, own);
    return [
      { text: String(index).padStart(4), style: style.bold },
      labels.get(id) ?? blockLabel(block),
      made === null ? "?" : short(made, own),
      { text: isChanged ? short(changed, own) : "", style: style.warn },
      { text: excerpt(block.text, 160), style: style.dim },
    ];
  };
  context.print(style.bold(placeName(conversation, past.revision)));
  const head = ["", "block", "made by", "changed by", ""].map((text) => ({ text, style: style.dim }));
  for (const line of tableLines([head, ...turnSpokenOf(past).blocks.map(row)], context)) context.print(line);
  const removed = removedOf(place);
  if (removed.length === 0) return;
  context.print(`\n${style.bold("No longer in the Turn")}`);
  const gone = removed.map(({ id, made, removed: change }) => [
    `  ${labels.get(id) ?? "block"}`,
    short(made, own),
    { text: `removed by ${short(change, own)}`, style: style.warn },
    { text: id, style: style.dim },
  ]);
  for (const line of tableLines(gone, context)) context.print(line);
}

function printOne(context: CliContext, place: FoundPlace, id: string, labels: Labels): void {
  const { style, print } = context;
  const { past } = place;
  const blame = past.view.client.blame.get(id);
  const block = turnSpokenOf(past).blocks.find((each) => each.id === id);
  print(`${style.bold(labels.get(id) ?? "block")}  ${style.dim(id)}`);
  if (blame !== undefined) {
    const row = (what: string, change: Change, isNow: boolean) => [
      what,
      eventPlace(change, past.event.stream),
      describeActor(change.actor),
      { text: `${change.at.slice(0, 19).replace("T", " ")}${isNow ? " (now)" : ""}`, style: style.dim },
    ];
    const versions = blame.versions.map(({ digest, change }, number) =>
      row(number === 0 ? "made" : "changed", change, digest === block?.digest),
    );
    const gone = removedOf(place).find((each) => each.id === id);
    const rows = gone === undefined ? versions : [...versions, row("removed", gone.removed, false)];
    for (const line of tableLines(rows, context)) print(line);
  }
  if (block !== undefined) print(`\n${printable(block.text)}`);
}
