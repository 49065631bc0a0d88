import { isJsonObject } from "../../base/json.ts";
import {
  anything,
  checkFlag,
  checkWhole,
  choiceOf,
  kindOf,
  optionsOf,
  textOf,
  type ValueCheck,
} from "../../base/options.ts";
import { type ConversationId, conversationOfStream } from "../../domain/ids.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { ListedPage, ListRange, PlaceInList } from "../../log/ports/view-store.ts";
import type { ListedView } from "../../log/read-models/row-projector.ts";
import { lifeIn } from "../../log/writer/owner.ts";
import {
  type ConversationListView,
  type ConversationSummary,
  conversationList,
  type ListSort,
  listMarks,
  listName,
  listSorts,
} from "../../projections/views/conversation-list.ts";
import type { ListedRun, ListedWaiting } from "../../projections/views/listed-run.ts";
import type { Waiting } from "../../projections/views/waiting.ts";
import { withRows } from "./rows.ts";

/** Which conversations to list. */
export type ListOptions = {
  /** Maximum number, from 1; by default 20. */
  readonly limit?: number;
  /** `next` of the page before, of a list with the same filters and order; by default the list starts at its beginning. */
  readonly after?: string;
  /** By the time of the newest event, or of the first; by default `lastAt`. */
  readonly sort?: ListSort;
  /** By default `descending`: the newest first. */
  readonly order?: "ascending" | "descending";
  /** Only those whose time, the one that they are sorted by, is this or later: a `Date`, or ISO text. */
  readonly since?: Date | string;
  /** Only those whose time, the one that they are sorted by, is before this: a `Date`, or ISO text. */
  readonly until?: Date | string;
  /**
   * Only those with an open run, or with a run in this state. The owner of a run is recorded, but each page checks whether its process
   * is alive: a state other than `open` makes pages shorter, even empty, so continue until `next` is null.
   */
  readonly state?: OpenRunState | "open";
  /** Only those with a run that waits for this: see `waitingFor` of results. Approvals that have expired make pages shorter, as `state` does. */
  readonly waitingFor?: Waiting["kind"] | "any";
  /** Only those with a run that has `losses`. */
  readonly losses?: true;
  /** Only conversations that have all of these: `{ user: "ann" }`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Whether to list hidden conversations (`conversation.hide`) too. */
  readonly withHidden?: boolean;
  /** Whether to count those that are not on the page, too: takes time in proportion to their number. */
  readonly withTotal?: boolean;
  /** Called with the number of events read so far, while the list reads events that it has not seen. */
  readonly onProgress?: (events: number) => void;
};

/**
 * The state of a run that has not ended. `running`: its process is, or may be, alive. `cut-off`: its process is dead, and the next run
 * finishes it. `elsewhere`: it is on another machine, which cannot be checked. `parked`: it waits for people, or for
 * results from outside; once it does not, it is `cut-off` again, and `isDecided` until a run goes on with it.
 */
export type OpenRunState = "running" | "cut-off" | "elsewhere" | "parked";

/** The entry of a conversation in a list. */
export type ListedConversation = Omit<ConversationSummary, "openRun"> & {
  readonly id: ConversationId;
  /** The run that has not ended; null if none is open. */
  readonly openRun: {
    readonly id: string;
    readonly state: OpenRunState;
    /** What it waits for, without approvals that have expired. */
    readonly waitingFor: readonly ListedWaiting[];
    /** How many of that are calls and effects in doubt. */
    readonly inDoubt: number;
    /** Everything that it waited for is decided, and no process has continued the run yet: its state is `cut-off`, and the next run goes on. */
    readonly isDecided: boolean;
  } | null;
  /** Whether an event of it could not be applied: `verify()` names it. */
  readonly isDamaged: boolean;
};

/** A page of the conversations of a store, in the order asked for. */
export type ConversationPage = {
  readonly conversations: readonly ListedConversation[];
  /** How many match, on this page or not, a `state` being taken for `open`; null without `withTotal`. */
  readonly total: number | null;
  /** How many more match but are hidden; null without `withTotal`. */
  readonly hidden: number | null;
  /** Pass it as `after` for the next page; null on the last page. */
  readonly next: string | null;
};

/** The states that a list can be narrowed to. */
export const listedStates = ["open", "running", "cut-off", "elsewhere", "parked"] as const;

/** What lists can be narrowed to that runs wait for. */
const waitingKinds = ["approval", "doubt", "external", "any"] as const;

/** Texts by their names. */
export const labelValues: ValueCheck<Readonly<Record<string, string>>> = (what, given) => {
  if (!isJsonObject(given)) throw new TypeError(`${what} is ${kindOf(given)}: give { name: "value" }`);
  const labels = Object.entries(given).map(([name, value]) => {
    if (typeof value === "string") return [name, value] as const;
    throw new TypeError(`${what}.${name} is ${kindOf(value)}: give a text`);
  });
  return Object.fromEntries(labels);
};

const nextWanted = "`next` of the page before, or leave it out";

const listOptions = optionsOf<ListOptions>({
  ...{ limit: checkWhole, after: textOf(nextWanted), sort: choiceOf(...listSorts) },
  ...{ order: choiceOf("ascending", "descending"), since: anything, until: anything, state: choiceOf(...listedStates) },
  losses(what, given) {
    if (given === true) return given;
    throw new TypeError(`${what} is ${kindOf(given)}: give true, or leave it out`);
  },
  waitingFor: choiceOf(...waitingKinds),
  ...{ labels: labelValues, withHidden: checkFlag, withTotal: checkFlag, onProgress: anything },
});

/** What is judged when a page is read: whether an owner is alive (at once, or once it is known), and which approvals have expired. */
type Judged = { readonly life?: typeof lifeIn; readonly clock?: () => number };

/**
 * A page of the conversations, read from ordered rows: its time does not grow with the number of conversations.
 *
 * @throws {TypeError | RangeError} if an option is unknown or invalid.
 */
export async function listConversations(
  events: EventStore,
  options: ListOptions,
  { life = lifeIn, clock = Date.now }: Judged = {},
): Promise<ConversationPage> {
  listOptions.check("list", options);
  const { limit = 20, withTotal = false, onProgress } = options;
  const told = onProgress === undefined ? {} : { onProgress };
  return withRows(
    events,
    conversationList,
    async (projector) => {
      const page = pageOf(options);
      const rows = await projector.readListed({ ...page, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      const last = rows.length > limit ? shown.at(-1) : undefined;
      const conversations = (await Promise.all(shown.map((row) => listed(row, events, { life, clock })))).flat();
      return {
        conversations: conversations.filter(({ openRun }) => isAsked(openRun, options)),
        ...(withTotal ? await totals(projector, page) : { total: null, hidden: null }),
        next: last === undefined ? null : cursorOf(options, last),
      };
    },
    told,
  );
}

const isAsked = (
  openRun: ListedConversation["openRun"],
  { state, waitingFor }: Pick<ListOptions, "state" | "waitingFor">,
): boolean =>
  (state === undefined || state === "open" || openRun?.state === state) &&
  (waitingFor === undefined ||
    openRun?.waitingFor.some(({ kind }) => waitingFor === "any" || kind === waitingFor) === true);

async function totals(
  projector: { readonly countListed: (range: ListRange) => Promise<number> },
  { lists, from, until }: ListRange,
): Promise<Pick<ConversationPage, "total" | "hidden">> {
  const total = await projector.countListed({ lists, from, until });
  const isVisible = (list: string): boolean => listSorts.some((sort) => list === listName(sort, listMarks.visible));
  if (!lists.some(isVisible)) return { total, hidden: 0 };
  const narrower = lists.filter((list) => !isVisible(list));
  const sort = listSorts.find((each) => lists.includes(listName(each, listMarks.visible))) ?? "lastAt";
  const all = await projector.countListed({
    lists: narrower.length === 0 ? [listName(sort, listMarks.all)] : narrower,
    ...{ from, until },
  });
  return { total, hidden: all - total };
}

function pageOf(options: ListOptions): Omit<ListedPage, "limit"> {
  const {
    sort = "lastAt",
    order = "descending",
    since,
    until,
    state,
    waitingFor,
    losses,
    labels = {},
    withHidden,
    after,
  } = options;
  const marks = [
    ...Object.entries(labels).map(([name, value]) => listMarks.label(name, value)),
    ...(state === undefined ? [] : [listMarks.open]),
    ...(waitingFor === undefined ? [] : [listMarks.waiting(waitingFor)]),
    ...(losses === undefined ? [] : [listMarks.losses]),
    ...(withHidden === true ? [] : [listMarks.visible]),
  ];
  return {
    lists: (marks.length === 0 ? [listMarks.all] : marks).map((mark) => listName(sort, mark)),
    ...{ from: timeOf("since", since), until: timeOf("until", until), order },
    after: after === undefined ? null : placeOf(after, { sort, order }),
  };
}

/** The place of a page's last row, with the order that it is a place of. */
function cursorOf({ sort = "lastAt", order = "descending" }: ListOptions, { at, key }: PlaceInList): string {
  return Buffer.from(JSON.stringify([sort, order, at, key])).toString("base64url");
}

function placeOf(after: string, asked: { readonly sort: string; readonly order: string }): PlaceInList {
  const [sort, order, at, key] = cursorParts(after);
  if (typeof at !== "string" || typeof key !== "string")
    throw new TypeError(`list: after is not a place in a list: give ${nextWanted}`);
  if (sort !== asked.sort || order !== asked.order)
    throw new TypeError(
      `list: after comes from a list in another order: ask for each page with the same sort and order`,
    );
  return { at, key };
}

/** Whether a text from outside is `next` of a page of `list` in the default order. */
export function isPlaceInList(after: string): boolean {
  const [sort, order, at, key] = cursorParts(after);
  return sort === "lastAt" && order === "descending" && typeof at === "string" && typeof key === "string";
}

function cursorParts(after: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(after, "base64url").toString());
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

function timeOf(what: string, given: Date | string | undefined): string | null {
  if (given === undefined) return null;
  const time = given instanceof Date ? given.getTime() : typeof given === "string" ? Date.parse(given) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new TypeError(`list: ${what} is not a time: give a Date, or ISO text such as 2026-09-01T12:30:00Z`);
}

/** Whether a conversation has all of some labels. */
export const hasLabels = (summary: ConversationSummary, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(labels).every(([name, value]) => summary.labels[name] === value);

/** The entry of a row; none for a row of something else. */
export async function listed(
  { key, view, quarantine }: Pick<ListedView<ConversationListView>, "key" | "view" | "quarantine">,
  events: EventStore,
  { life = lifeIn, clock = Date.now }: Judged = {},
): Promise<readonly ListedConversation[]> {
  const id = conversationOfStream(key);
  const { openRun, ...summary } = view.summary;
  const run = openRun && (await listedRun(openRun, events, { life, clock }));
  return id === null ? [] : [{ id, ...summary, openRun: run, isDamaged: quarantine !== null }];
}

async function listedRun(
  { id, owner, waiting, isDecided }: ListedRun,
  events: EventStore,
  { life, clock }: Required<Judged>,
): Promise<NonNullable<ListedConversation["openRun"]>> {
  const now = clock();
  const waitingFor = waiting.filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > now);
  const inDoubt = waitingFor.filter(({ kind }) => kind === "doubt").length;
  // An approval that has expired counts as decided.
  const isReady = owner === null && waitingFor.length === 0 && (isDecided || waiting.length > 0);
  return { id, state: await stateOf(owner, waitingFor.length > 0), waitingFor, inDoubt, isDecided: isReady };

  async function stateOf(found: ListedRun["owner"], isWaiting: boolean): Promise<OpenRunState> {
    if (found === null) return isWaiting ? "parked" : "cut-off";
    return ({ alive: "running", dead: "cut-off", unknown: "elsewhere" } as const)[await life(events, found)];
  }
}
