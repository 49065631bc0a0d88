import { type BegunConversation, type Family, withFamily } from "../../analysis/lists/list-related.ts";
import type { ConversationId } from "../../domain/ids.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { ForkRow, ForksDocument } from "./fork-documents.ts";

/** How many conversations of a tree are shown. */
const mostShown = 500;

/**
 * The conversations that began from one another, from the oldest ancestor of one of them on: each below the one that it began from, in the order
 * of the revisions at which they left it.
 */
export const forksDocument = (
  events: EventStore,
  id: ConversationId,
  most: number = mostShown,
): Promise<ForksDocument> =>
  withFamily(events, async (family) => {
    const rows: ForkRow[] = [];
    const root = await rootOf(family, id);
    // What is to be shown next comes last.
    const next: Placed[] = [{ conversation: root, begun: await family.of(root), depth: 0 }];
    while (rows.length < most) {
      const placed = next.pop();
      if (placed === undefined) break;
      rows.push(rowOf(placed));
      // One more than there is room for says that there are more.
      const begun = await family.begunFrom(placed.conversation, most - rows.length + 1);
      for (const each of begun.toReversed())
        next.push({ conversation: each.listed.id, begun: each, depth: placed.depth + 1 });
    }
    return { conversation: id, rows, hasMore: next.length > 0 };
  });

/** Of a parent that is not listed (erased, or in another store), the id is known. */
async function rootOf(family: Family, id: string): Promise<string> {
  let root = id;
  const seen = new Set<string>([id]);
  for (;;) {
    const parent = (await family.of(root))?.listed.parent ?? null;
    if (parent === null || seen.has(parent)) return root;
    seen.add(parent);
    root = parent;
  }
}

type Placed = {
  readonly conversation: string;
  /** Null if it is not in this store. */
  readonly begun: BegunConversation | null;
  readonly depth: number;
};

function rowOf({ conversation, begun, depth }: Placed): ForkRow {
  const listed = begun?.listed ?? null;
  const origin = listed?.origin === "child" ? "child" : listed?.origin === "fork" ? "fork" : null;
  const { chained = 0, rebased = 0, full = 0, events = 0, lastAt = null } = listed ?? {};
  return {
    ...{ conversation, depth, origin, chained, rebased, full, events, lastAt },
    from: depth === 0 ? null : (begun?.leftAt ?? null),
    title: listed === null ? null : (listed.title ?? listed.begins ?? conversation),
    state: listed?.openRun?.state ?? null,
  };
}
