/** The folds of a conversation at a revision. */
type Rung<Folds> = { readonly revision: number; readonly folds: Folds };

/** How many rungs are kept, and how many events are between two of a short conversation. */
const [mostRungs, leastGap] = [128, 256];

/**
 * Folds at earlier revisions of a conversation, so that a look at any revision folds the events from the nearest one on. There is one every
 * 256 events; with more than 128 of them, every second one is dropped and the distance doubles.
 */
export class Rungs<Folds> {
  #rungs: readonly Rung<Folds>[] = [];
  #gap: number;

  constructor(gap: number = leastGap) {
    this.#gap = gap;
  }

  /** Whether there is to be one at a revision. */
  isDue(revision: number): boolean {
    return revision > 0 && revision % this.#gap === 0;
  }

  /** @param revision - Later than those of all others. */
  add(revision: number, folds: Folds): void {
    this.#rungs = [...this.#rungs, { revision, folds }];
    if (this.#rungs.length <= mostRungs) return;
    this.#gap *= 2;
    this.#rungs = this.#rungs.filter((rung) => this.isDue(rung.revision));
  }

  /** The newest one up to a revision; null if there is none. */
  nearest(revision: number): Rung<Folds> | null {
    return this.#rungs.findLast((rung) => rung.revision <= revision) ?? null;
  }
}
