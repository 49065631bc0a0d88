import type { PromptPlace } from "./prompt.ts";

/** What is known of places, by partition and digest; the oldest are dropped. One long text as a key would be hashed anew each time. */
export class ByPlace<Value> {
  readonly #values = new Map<string, Map<string, Value>>();

  get(partition: string, place: PromptPlace | undefined): Value | undefined {
    return place === undefined ? undefined : this.#values.get(partition)?.get(place.digest);
  }

  /** Sets the value of each of these places. */
  set(partition: string, places: readonly PromptPlace[], value: Value): void {
    const values = this.#values.get(partition) ?? new Map<string, Value>();
    this.#values.set(partition, values);
    dropOldest(this.#values, maxPartitions);
    for (const { digest } of places) values.set(digest, value);
    dropOldest(values, maxKept);
  }

  *values(): Generator<Value> {
    for (const values of this.#values.values()) yield* values.values();
  }

  clear(): void {
    this.#values.clear();
  }
}

/** How many partitions are known, and how many places of each. */
export const maxPartitions = 1_000;
const maxKept = 100_000;

/** Drops the oldest keys of a map with more than so many. */
export function dropOldest(map: Map<string, unknown>, max: number): void {
  if (map.size <= max) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    if (map.size <= max) return;
  }
}
