import type { EventStore } from "../../log/ports/event-store.ts";
import type { ListedPage } from "../../log/ports/view-store.ts";
import {
  begunFrom,
  type ConversationListView,
  conversationList,
  type ListedFailure,
  listMarks,
  listName,
} from "../../projections/views/conversation-list.ts";
import { type ListedConversation, listed } from "./list.ts";
import { withRows } from "./rows.ts";

/** A conversation that began from another one. */
export type BegunConversation = {
  readonly listed: ListedConversation;
  /** The revision of its parent after which it continues; null if it inherits nothing. */
  readonly leftAt: number | null;
};

/** Looks up the relatives of conversations in the rows of the list. */
export type Family = {
  /** Null if there is none, and if it was erased. */
  readonly of: (id: string) => Promise<BegunConversation | null>;
  /** Those that began from a conversation, in the order of the revisions at which they left it, also hidden ones. */
  readonly begunFrom: (id: string, limit: number) => Promise<readonly BegunConversation[]>;
};

/** Reads rows of conversations that began from one another; the time does not depend on how many others there are. */
export const withFamily = <T>(events: EventStore, read: (family: Family) => Promise<T>): Promise<T> =>
  withRows(events, conversationList, (projector) => {
    const begun = async (row: ConversationRow): Promise<readonly BegunConversation[]> =>
      (await listed(row, events)).map((each) => ({ listed: each, leftAt: row.view.leftAt }));
    return read({
      async of(id) {
        const row = await projector.read(`conversation-${id}`);
        return row === null || row.view.summary.startedAt === "" ? null : ((await begun(row))[0] ?? null);
      },
      async begunFrom(id, limit) {
        const rows = await projector.readListed({ ...all, lists: [begunFrom(id)], order: "ascending", limit });
        return (await Promise.all(rows.map(begun))).flat();
      },
    });
  });

/** The conversations whose last run failed, the newest first, at most so many, and without hidden ones. */
export const listFailed = (
  events: EventStore,
  limit: number,
): Promise<readonly { readonly listed: ListedConversation; readonly failure: ListedFailure }[]> =>
  withRows(events, conversationList, async (projector) => {
    const lists = [listMarks.failed, listMarks.visible].map((mark) => listName("lastAt", mark));
    const rows = await projector.readListed({ ...all, lists, order: "descending", limit });
    const found = await Promise.all(
      rows.map(async (row) => {
        const { failure } = row.view;
        return failure === null ? [] : (await listed(row, events)).map((each) => ({ listed: each, failure }));
      }),
    );
    return found.flat();
  });

type ConversationRow = Parameters<typeof listed>[0] & { readonly view: ConversationListView };

const all: Pick<ListedPage, "from" | "until" | "after"> = { from: null, until: null, after: null };
