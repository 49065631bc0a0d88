import type { Snapshot, SnapshotKey, SnapshotStore } from "../../log/ports/snapshot-store.ts";

export type MemorySnapshots = SnapshotStore & {
  /** Deletes the snapshots of a stream, and returns how many there were. */
  readonly forget: (stream: string) => number;
};

/**
 * Snapshots that last as long as the process.
 *
 * @param options.isErasedSince - Whether something of a stream was erased after a revision.
 */
export function createMemorySnapshots({
  refuseIfClosed,
  isErasedSince,
}: {
  readonly refuseIfClosed: () => void;
  readonly isErasedSince: (stream: string, revision: number) => boolean;
}): MemorySnapshots {
  const dataByRevisionByKey = new Map<string, Map<number, string>>();
  const keyText = ({ stream, projection, version }: SnapshotKey): string =>
    JSON.stringify([stream, projection, version]);
  return {
    async get(key, atMost): Promise<Snapshot | null> {
      refuseIfClosed();
      const dataByRevision = dataByRevisionByKey.get(keyText(key)) ?? new Map<number, string>();
      const revision = Math.max(-1, ...[...dataByRevision.keys()].filter((present) => present <= atMost));
      const data = dataByRevision.get(revision);
      return data === undefined ? null : { revision, data };
    },
    async put(key, { revision, data }, seen = revision) {
      refuseIfClosed();
      if (isErasedSince(key.stream, seen)) return;
      const dataByRevision = dataByRevisionByKey.get(keyText(key)) ?? new Map<number, string>();
      dataByRevisionByKey.set(keyText(key), dataByRevision.set(revision, data));
    },
    forget(stream) {
      const its = [...dataByRevisionByKey].filter(([key]) =>
        key.startsWith(`${JSON.stringify([stream]).slice(0, -1)},`),
      );
      for (const [key] of its) dataByRevisionByKey.delete(key);
      return its.reduce((sum, [, dataByRevision]) => sum + dataByRevision.size, 0);
    },
    async deleteAll() {
      refuseIfClosed();
      dataByRevisionByKey.clear();
    },
  };
}
