import type { Keyframe, KeyframeKey, KeyframeStore } from "../../log/ports/snapshot-store.ts";

/** Keyframes that last as long as the process. */
export function createMemoryKeyframes(refuseIfClosed: () => void): KeyframeStore {
  const dataByRevisionByKey = new Map<string, Map<number, string>>();
  const keyText = ({ stream, projection, version }: KeyframeKey): string =>
    JSON.stringify([stream, projection, version]);
  return {
    async get(key, atMost): Promise<Keyframe | null> {
      refuseIfClosed();
      const dataByRevision = dataByRevisionByKey.get(keyText(key)) ?? new Map<number, string>();
      const revision = Math.max(-1, ...[...dataByRevision.keys()].filter((present) => present <= atMost));
      const data = dataByRevision.get(revision);
      return data === undefined ? null : { revision, data };
    },
    async put(key, { revision, data }) {
      refuseIfClosed();
      const dataByRevision = dataByRevisionByKey.get(keyText(key)) ?? new Map<number, string>();
      dataByRevisionByKey.set(keyText(key), dataByRevision.set(revision, data));
    },
    async deleteAll() {
      refuseIfClosed();
      dataByRevisionByKey.clear();
    },
  };
}
