import { sha256Hex } from "../../base/sha256.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { conversationView } from "../../projections/conversation-view.ts";
import type { SnapshotKey, SnapshotStore } from "../ports/snapshot-store.ts";

/** A list that snapshots name: it is kept under a stream, named by its content, and written once. */
export type ListRef = { readonly stream: string; readonly name: string };

/** Where the snapshots of a stream are kept. A change of the fold's version, or of this format, leaves the old ones aside. */
export const snapshotKey = (stream: string): SnapshotKey => ({
  stream,
  projection: `${conversationView.name}/6`,
  version: conversationView.version,
});

/** Where a list is kept that snapshots name. */
export function listKey({ stream, name }: ListRef): SnapshotKey {
  const { projection, version } = snapshotKey(stream);
  return { stream, projection: `${projection}/${name}`, version };
}

export const listName = (text: string): string => sha256Hex(text).slice(0, 32);

/** @throws {TurnlogError} `snapshot-damaged` when it is not there as it was written. */
export async function readList(store: SnapshotStore, ref: ListRef): Promise<string> {
  const saved = await store.get(listKey(ref), 0);
  if (saved !== null && listName(saved.data) === ref.name) return saved.data;
  throw new TurnlogError("snapshot-damaged", `the list ${ref.name} is not there`);
}
