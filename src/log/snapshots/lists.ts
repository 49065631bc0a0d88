import { sha256Hex } from "../../base/sha256.ts";
import { conversationView } from "../../projections/views/conversation-view.ts";
import type { Snapshot, SnapshotKey, SnapshotStore } from "../ports/snapshot-store.ts";

/** A list that snapshots refer to: kept under a stream, named by its content, and written once. */
export type ListRef = { readonly stream: string; readonly name: string };

/** Where the snapshots of a stream are kept. A new version of the fold, or of this format, ignores older snapshots. */
export const snapshotKey = (stream: string): SnapshotKey => ({
  stream,
  projection: `${conversationView.name}/9`,
  version: conversationView.version,
});

/** Where a list that snapshots refer to is kept. */
export function listKey({ stream, name }: ListRef): SnapshotKey {
  const { projection, version } = snapshotKey(stream);
  return { stream, projection: `${projection}/${name}`, version };
}

export const snapshotListName = (text: string): string => sha256Hex(text).slice(0, 32);

/** Reads a list. Undefined is a miss: the list is absent or changed, or the store cannot be read now. */
export const readList = async (store: SnapshotStore, ref: ListRef): Promise<string | undefined> =>
  listText(await savedAt(store, listKey(ref), 0), ref);

/** The text of a list, if it matches its name. */
export const listText = (saved: Snapshot | null | undefined, { name }: ListRef): string | undefined =>
  saved && snapshotListName(saved.data) === name ? saved.data : undefined;

/** The newest snapshot up to a revision; undefined if there is none, or if the store cannot be read now. */
export async function savedAt(store: SnapshotStore, key: SnapshotKey, atMost: number): Promise<Snapshot | undefined> {
  try {
    const saved = await store.get(key, atMost);
    return saved !== null && saved.revision <= atMost ? saved : undefined;
  } catch {
    // A failing cache only costs time: the events have the same information.
    return undefined;
  }
}
