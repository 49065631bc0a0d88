import { ByPlace, dropOldest, maxPartitions } from "./by-place.ts";
import type { PromptPlace } from "./prompt.ts";

/** A prompt that the server has read. */
export interface EarlierPrompt {
  readonly index: number;
  readonly places: readonly PromptPlace[];
  /** Whether it had a boundary, and the last place after which it was cached; -1 for none. */
  readonly hasBoundary: boolean;
  readonly lastWrite: number;
}

/** What a prompt shares with an earlier one: up to which place; -1 for nothing. */
export interface Shared {
  readonly place: number;
  readonly tokens: number;
  readonly prompt: EarlierPrompt | undefined;
}

/** The prompts that a front has read, by what they begin with. */
export class EarlierPrompts {
  readonly #inPartition = new ByPlace<EarlierPrompt>();
  readonly #anywhere = new ByPlace<EarlierPrompt>();
  readonly #newest = new Map<string, EarlierPrompt>();
  #newestAnywhere: EarlierPrompt | undefined;

  get isEmpty(): boolean {
    return this.#newestAnywhere === undefined;
  }

  /** The prompt of a partition that shares most with this one, and the newest of several; if none shares anything, the newest of all. */
  nearest(partition: string, places: readonly PromptPlace[]): Shared {
    return nearestIn(places, (place) => this.#inPartition.get(partition, place), this.#newest.get(partition));
  }

  /** The same among the prompts of all partitions. */
  nearestAnywhere(places: readonly PromptPlace[]): Shared {
    return nearestIn(places, (place) => this.#anywhere.get("", place), this.#newestAnywhere);
  }

  add(partition: string, prompt: EarlierPrompt): void {
    this.#inPartition.set(partition, prompt.places, prompt);
    this.#anywhere.set("", prompt.places, prompt);
    this.#newest.set(partition, prompt);
    dropOldest(this.#newest, maxPartitions);
    this.#newestAnywhere = prompt;
  }

  clear(): void {
    for (const map of [this.#inPartition, this.#anywhere, this.#newest]) map.clear();
    this.#newestAnywhere = undefined;
  }
}

function nearestIn(
  places: readonly PromptPlace[],
  promptAt: (place: PromptPlace | undefined) => EarlierPrompt | undefined,
  newest: EarlierPrompt | undefined,
): Shared {
  for (let at = places.length - 1; at >= 0; at -= 1) {
    const prompt = promptAt(places[at]);
    if (prompt !== undefined) return { place: at, tokens: places[at]?.tokens ?? 0, prompt };
  }
  return { place: -1, tokens: 0, prompt: newest };
}
