import { sha256Hex } from "../../base/sha256.ts";
import { conversationView } from "../../projections/conversation-view.ts";
import type { Snapshot, SnapshotKey, SnapshotStore } from "../ports/snapshot-store.ts";

/** A list that snapshots name: it is kept under a stream, named by its content, and written once. */
export type ListRef = { readonly stream: string; readonly name: string };

/** Where the snapshots of a stream are kept. A change of the fold's version, or of this format, leaves the old ones aside. */
export const snapshotKey = (stream: string): SnapshotKey => ({
  stream,
  projection: `${conversationView.name}/8`,
  version: conversationView.version,
});

/** Where a list is kept that snapshots name. */
export function listKey({ stream, name }: ListRef): SnapshotKey {
  const { projection, version } = snapshotKey(stream);
  return { stream, projection: `${projection}/${name}`, version };
}

export const snapshotListName = (text: string): string => sha256Hex(text).slice(0, 32);

/** A list that was looked for; undefined is a miss: the store does not have it, not as it was written, or cannot be read now. */
export const readList = async (store: SnapshotStore, ref: ListRef): Promise<string | undefined> =>
  listText(await savedAt(store, listKey(ref), 0), ref);

/** The text of a list, where it is what its name says. */
export const listText = (saved: Snapshot | null | undefined, { name }: ListRef): string | undefined =>
  saved && snapshotListName(saved.data) === name ? saved.data : undefined;

/** The newest that a store of snapshots keeps up to a revision; undefined for none, and where the store cannot be read now. */
export async function savedAt(store: SnapshotStore, key: SnapshotKey, atMost: number): Promise<Snapshot | undefined> {
  try {
    const saved = await store.get(key, atMost);
    return saved !== null && saved.revision <= atMost ? saved : undefined;
  } catch {
    // A cache that fails costs time: the events tell the same.
    return undefined;
  }
}
