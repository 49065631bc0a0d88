import type { EventStore, StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { createMemoryStore, type MemoryStore } from "../../../src/stores/memory/store.ts";
import type { Damage } from "./damaged-copy.ts";

/** A store whose events may become damaged at any time, for everybody who reads it from then on. */
export type DamagingStore<Store extends EventStore = MemoryStore> = {
  readonly events: Store;
  /** The same events as they were written. */
  readonly sound: Store;
  readonly damage: (stream: string, revision: number, damage: Damage) => void;
};

export function createDamagingStore(): DamagingStore {
  return damaging(createMemoryStore());
}

/** The same over any store. */
export function damaging<Store extends EventStore>(sound: Store): DamagingStore<Store> {
  const damages = new Map<string, Damage>();
  // Every event of a run that is long passes here: no name is made for one as long as nothing is damaged.
  const seen = (envelope: StoredEnvelope): StoredEnvelope =>
    damages.size === 0 ? envelope : (damages.get(`${envelope.stream}@${envelope.revision}`)?.(envelope) ?? envelope);
  async function* seenOf(envelopes: AsyncIterable<StoredEnvelope>): AsyncIterable<StoredEnvelope> {
    for await (const envelope of envelopes) yield seen(envelope);
  }
  return {
    sound,
    events: {
      ...sound,
      readStream: (stream, options) => seenOf(sound.readStream(stream, options)),
      readLog: (options) => seenOf(sound.readLog(options)),
      subscribe: (options) => seenOf(sound.subscribe(options)),
    },
    damage(stream, revision, damage) {
      damages.set(`${stream}@${revision}`, damage);
    },
  };
}
