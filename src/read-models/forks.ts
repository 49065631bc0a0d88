import { tryToRead } from "../log/codec/recorded.ts";
import { type ForkPoint, forkPointOf } from "../log/history/lineage.ts";
import { type EventStore, envelopeAt } from "../log/ports/event-store.ts";

/** Which conversations are forks, and of what. Each first event is read once: it never changes. */
export class Forks {
  readonly #store: EventStore;
  /** By stream; null if it is not a fork. One whose first event cannot be read is not here. */
  readonly #points = new Map<string, ForkPoint | null>();

  constructor(store: EventStore) {
    this.#store = store;
  }

  /** The streams that inherit an event: of forks that began at it or behind it, of their forks, and so on. */
  async inheriting({ stream, revision }: Pick<ForkPoint, "stream" | "revision">): Promise<readonly string[]> {
    await this.#readNew();
    const forksByParent = Map.groupBy(this.#points, ([, point]) => point?.stream ?? null);
    const own = (forksByParent.get(stream) ?? []).filter(([, point]) => point !== null && point.revision >= revision);
    const found = new Set(own.map(([fork]) => fork));
    for (const each of found) for (const [fork] of forksByParent.get(each) ?? []) found.add(fork);
    return [...found];
  }

  async #readNew(): Promise<void> {
    for await (const { stream } of this.#store.heads("conversation-")) {
      if (this.#points.has(stream)) continue;
      const first = await envelopeAt(this.#store, stream, 0);
      const reading = first === null ? null : await tryToRead(this.#store, first);
      if (reading !== null && !(reading instanceof Error)) this.#points.set(stream, forkPointOf(reading.event));
    }
  }
}
