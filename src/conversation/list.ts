import { isJsonObject } from "../base/json.ts";
import { checkOptions, checkText, checkWhole, kindOf, type OptionNames } from "../base/options.ts";
import { type ConversationId, conversationOfStream } from "../domain/ids.ts";
import { isHidden } from "../domain/labels.ts";
import { comparePositions, type EventStore } from "../log/ports/event-store.ts";
import { lifeIn } from "../log/writer/owner.ts";
import {
  type ConversationListView,
  type ConversationSummary,
  conversationList,
  type ListedRun,
} from "../projections/conversation-list.ts";
import type { ProjectedView } from "../read-models/live-views.ts";
import { withRows } from "./read-models.ts";

/** Which conversations are listed. */
export type ListOptions = {
  /** How many at most, from 1; by default 20. */
  readonly limit?: number;
  /** `next` of the page before; by default the list begins with the conversation that was written last. */
  readonly after?: string;
  /** Only conversations that have all of these: `{ user: "ann" }`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Whether those that `conversation.hide` took out of lists are listed too. */
  readonly withHidden?: boolean;
  /** Told, while events are read that no list has seen yet, how many were. */
  readonly onProgress?: (events: number) => void;
};

/**
 * How a run that has not ended stands: its process lives here (`running`), or is dead (`cut-off`: the next run finishes it), or
 * is on another machine, where nobody can look (`elsewhere`); or it waits until people settle what is in doubt (`parked`). One
 * that was parked and is settled is `cut-off` again.
 */
export type OpenRunState = "running" | "cut-off" | "elsewhere" | "parked";

/** What a list says of a conversation. */
export type ListedConversation = Omit<ConversationSummary, "openRun"> & {
  readonly id: ConversationId;
  /** The run that has not ended; null when none is open. `inDoubt` counts what is to be settled. */
  readonly openRun: { readonly id: string; readonly state: OpenRunState; readonly inDoubt: number } | null;
  /** Whether an event of it could not be taken in: `verify()` names it. */
  readonly isDamaged: boolean;
};

/** Some of the conversations of a store, the one that was written last first. */
export type ConversationPage = {
  readonly conversations: readonly ListedConversation[];
  /** How many there are with these labels, on this page or not. */
  readonly total: number;
  /** How many more there are that are hidden, and were not asked for. */
  readonly hidden: number;
  /** What to give as `after` for those that follow; null when none do. */
  readonly next: string | null;
};

const optionNames: OptionNames<ListOptions> = {
  limit: true,
  after: true,
  labels: true,
  withHidden: true,
  onProgress: true,
};

/** @throws {TypeError | RangeError} for an option that is none, and for a value that it cannot have. */
export async function listConversations(events: EventStore, options: ListOptions): Promise<ConversationPage> {
  checkOptions("list", options, optionNames);
  const { limit = 20, after, labels = {}, withHidden = false, onProgress } = options;
  checkWhole("list: limit", limit);
  if (after !== undefined) checkText("list: after", after, "`next` of the page before, or leave it out");
  checkLabels(labels);
  const rows = await withRows(
    events,
    conversationList,
    async (projector) => {
      const all: ProjectedView<ConversationListView>[] = [];
      for await (const row of projector.readAll()) all.push(row);
      return all;
    },
    onProgress === undefined ? {} : { onProgress },
  );
  const wanted = rows.filter(({ view }) => hasLabels(view.summary, labels));
  const found = withHidden ? wanted : wanted.filter(({ view }) => !isHidden(view.summary.labels));
  const newestFirst = found.toSorted((left, right) => comparePlaces(placeOf(right), placeOf(left)));
  const left = after === undefined ? newestFirst : newestFirst.filter((row) => comparePlaces(placeOf(row), after) < 0);
  const page = left.slice(0, limit);
  const last = page.at(-1);
  return {
    conversations: (await Promise.all(page.map((row) => listed(row, events)))).flat(),
    total: found.length,
    hidden: wanted.length - found.length,
    next: left.length > page.length && last !== undefined ? placeOf(last) : null,
  };
}

/** Where a conversation stands in the list: by the time of its newest event, so that a copy of the store lists the same; then by its place. */
const placeOf = ({ view, position }: ProjectedView<ConversationListView>): string =>
  `${view.summary.lastAt} ${position}`;

function comparePlaces(left: string, right: string): number {
  const [[leftAt = "", leftPosition = ""], [rightAt = "", rightPosition = ""]] = [left.split(" "), right.split(" ")];
  return leftAt === rightAt ? comparePositions(leftPosition, rightPosition) : leftAt < rightAt ? -1 : 1;
}

function checkLabels(labels: unknown): void {
  if (!isJsonObject(labels)) throw new TypeError(`list: labels is ${kindOf(labels)}: give { name: "value" }`);
  for (const [name, value] of Object.entries(labels))
    if (typeof value !== "string") throw new TypeError(`list: labels.${name} is ${kindOf(value)}: give a text`);
}

const hasLabels = (summary: ConversationSummary, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(labels).every(([name, value]) => summary.labels[name] === value);

async function listed(
  { key, view, quarantine }: ProjectedView<ConversationListView>,
  events: EventStore,
): Promise<readonly ListedConversation[]> {
  const id = conversationOfStream(key);
  const { openRun, ...summary } = view.summary;
  const run = openRun && { id: openRun.id, state: await stateOf(openRun, events), inDoubt: openRun.inDoubt.length };
  return id === null ? [] : [{ id, ...summary, openRun: run, isDamaged: quarantine !== null }];
}

async function stateOf({ owner, inDoubt }: ListedRun, events: EventStore): Promise<OpenRunState> {
  if (owner === null) return inDoubt.length > 0 ? "parked" : "cut-off";
  return ({ alive: "running", dead: "cut-off", unknown: "elsewhere" } as const)[await lifeIn(events, owner)];
}
