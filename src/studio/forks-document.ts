import { listConversations } from "../conversation/list.ts";
import { type ConversationId, conversationStream } from "../domain/ids.ts";
import { tryToRead } from "../log/codec/recorded.ts";
import { type EventStore, envelopeAt } from "../log/ports/event-store.ts";
import type { ForkRow, ForksDocument } from "./fork-documents.ts";
import { parentOf } from "./origin.ts";

/** How many conversations are read for a tree, a page of the list at a time, and how many of it are shown. */
const [mostRead, pageSize, mostShown] = [20_000, 500, 500];

type Listed = Awaited<ReturnType<typeof listConversations>>["conversations"][number];

/**
 * The conversations that began from one another, from the oldest ancestor of one of them on: each below the one that it began from, in the order
 * of the revisions at which they left it.
 */
export async function forksDocument(events: EventStore, id: ConversationId): Promise<ForksDocument> {
  const { byId, byParent, hasMore } = await readFamily(events);
  let root: string = id;
  const seen = new Set<string>();
  // Of a parent that is not listed (erased, or in another store), the id is known.
  for (let up = byId.get(root)?.parent ?? null; up !== null && !seen.has(up); up = byId.get(root)?.parent ?? null) {
    seen.add(up);
    root = up;
  }
  const rows: ForkRow[] = [];
  await addBelow(root, 0, null);
  return { conversation: id, rows, hasMore: hasMore || rows.length >= mostShown };

  async function addBelow(conversation: string, depth: number, from: number | null): Promise<void> {
    if (rows.length >= mostShown) return;
    rows.push(rowOf(conversation, byId.get(conversation) ?? null, { depth, from }));
    const children = await Promise.all(
      (byParent.get(conversation) ?? []).map(async (child) => ({ child, from: await leftAt(events, child.id) })),
    );
    const inOrder = children.toSorted(
      (left, right) =>
        (left.from ?? -1) - (right.from ?? -1) || left.child.startedAt.localeCompare(right.child.startedAt),
    );
    for (const each of inOrder) await addBelow(each.child.id, depth + 1, each.from);
  }
}

async function readFamily(events: EventStore) {
  const byId = new Map<string, Listed>();
  const byParent = new Map<string, Listed[]>();
  let after: string | null | undefined;
  for (; after !== null && byId.size < mostRead; ) {
    const range = { limit: pageSize, withHidden: true, ...(after === undefined ? {} : { after }) };
    const page = await listConversations(events, range);
    for (const listed of page.conversations) {
      byId.set(listed.id, listed);
      if (listed.parent === null) continue;
      const siblings = byParent.get(listed.parent) ?? [];
      siblings.push(listed);
      byParent.set(listed.parent, siblings);
    }
    after = page.next;
  }
  return { byId, byParent, hasMore: after !== null };
}

/** The revision at which a fork left its parent; null for a child, which inherits nothing. */
async function leftAt(events: EventStore, id: ConversationId): Promise<number | null> {
  const envelope = await envelopeAt(events, conversationStream(id), 0);
  const recorded = envelope === null ? null : await tryToRead(events, envelope);
  if (recorded === null || recorded instanceof Error || recorded.event.type !== "ConversationStarted") return null;
  return parentOf(recorded.event.data.origin)?.revision ?? null;
}

function rowOf(
  conversation: string,
  listed: Listed | null,
  { depth, from }: { readonly depth: number; readonly from: number | null },
): ForkRow {
  const origin = listed?.origin === "child" ? "child" : listed?.origin === "fork" ? "fork" : null;
  const { chained = 0, rebased = 0, full = 0, events = 0, lastAt = null } = listed ?? {};
  return {
    ...{ conversation, depth, origin, from, chained, rebased, full, events, lastAt },
    title: listed === null ? null : (listed.title ?? listed.begins ?? conversation),
    state: listed?.openRun?.state ?? null,
  };
}
