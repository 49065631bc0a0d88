import { shownText } from "../../analysis/descriptions/shown-text.ts";
import { excerpt } from "../../base/printable.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { isRunEnd } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { LogGroup } from "./page-documents.ts";

/** A group while it may still grow. */
export type FoldedGroup = { -readonly [Name in keyof Omit<LogGroup, "worst">]: LogGroup[Name] } & {
  /** Whether a run of it has begun. */
  hasRun: boolean;
  isTitled: boolean;
};

/** A message, and the run that answers it, fold to one row: a message after a run begins the next. */
export function groupAfter(
  groups: FoldedGroup[],
  { event, revision }: RecordedEvent,
  { isOpen }: { readonly isOpen: boolean },
): void {
  const group = groupWith(groups, { revision, type: event.type });
  const isMessage = event.type === "BlockAppended" && event.data.block.kind === "user";
  if (isMessage && !group.isTitled) {
    group.words = excerpt(shownText(blockFromJson(event.data.block)), 80);
    group.isTitled = true;
  }
  if (event.type === "RunStarted") group.hasRun = true;
  if (group.hasRun) group.state = isOpen ? "open" : group.state === "open" ? "done" : group.state;
  if (isRunEnd(event) && event.type !== "RunCompleted") group.state = "failed";
}

/** The group that an event is in, by its type alone: also of one that cannot be read, or that was skipped. */
export function groupWith(
  groups: FoldedGroup[],
  { revision, type }: { readonly revision: number; readonly type: string },
): FoldedGroup {
  let group = groups.at(-1);
  const isNext = group?.hasRun === true && group.state !== "open";
  if (group === undefined || (isNext && startsGroup(type))) {
    group = { from: revision, to: revision, words: "", state: "done", hasRun: false, isTitled: false };
    groups.push(group);
  }
  group.to = revision;
  return group;
}

const startsGroup = (type: string): boolean =>
  ["BlockAppended", "RunStarted", "TurnReverted", "TurnCompacted", "SettingsDeclared"].includes(type);
