/** A value that was set, and the one that its key had before. */
type Entry<Key, Value> = {
  readonly key: Key;
  readonly value: Value;
  readonly place: number;
  readonly before: Entry<Key, Value> | null;
};

/** What a map held after a number of sets. */
type Beginning<Key, Value> = { readonly of: GrowingMap<Key, Value>; readonly sets: number };

/**
 * A map that only grows, and whose copies cost nothing until they change: a copy shares what the original held at that time, also when
 * the original goes on.
 */
export class GrowingMap<Key, Value> extends Map<Key, Value> {
  readonly #beginning: Beginning<Key, Value> | null;
  readonly #sets: Entry<Key, Value>[] = [];
  readonly #newest = new Map<Key, Entry<Key, Value>>();

  constructor(beginning: Beginning<Key, Value> | null = null) {
    super();
    this.#beginning = beginning;
  }

  copy(): GrowingMap<Key, Value> {
    if (this.#beginning === null) return new GrowingMap({ of: this, sets: this.#sets.length });
    // Copies of copies share the same beginning, so that a look at a key never passes more than two maps.
    const copy = new GrowingMap(this.#beginning);
    for (const { key, value } of this.#sets) copy.set(key, value);
    return copy;
  }

  override get size(): number {
    let size = 0;
    for (const _ of this.keys()) size += 1;
    return size;
  }

  override get(key: Key): Value | undefined {
    return this.#entry(key, this.#sets.length)?.value;
  }

  override has(key: Key): boolean {
    return this.#entry(key, this.#sets.length) !== null;
  }

  override set(key: Key, value: Value): this {
    const entry = { key, value, place: this.#sets.length, before: this.#newest.get(key) ?? null };
    this.#sets.push(entry);
    this.#newest.set(key, entry);
    return this;
  }

  override delete(): boolean {
    throw new Error("a GrowingMap only grows");
  }

  override clear(): void {
    throw new Error("a GrowingMap only grows");
  }

  override *keys(): MapIterator<Key> {
    for (const [key] of this) yield key;
  }

  override *values(): MapIterator<Value> {
    for (const [, value] of this) yield value;
  }

  override *entries(): MapIterator<[Key, Value]> {
    yield* this;
  }

  override forEach(look: (value: Value, key: Key, map: Map<Key, Value>) => void): void {
    for (const [key, value] of this) look(value, key, this);
  }

  /** In the order in which the keys were first set, as in any map. */
  override *[Symbol.iterator](): MapIterator<[Key, Value]> {
    for (const key of this.#keys(this.#sets.length)) {
      const entry = this.#entry(key, this.#sets.length);
      if (entry !== null) yield [key, entry.value];
    }
  }

  *#keys(sets: number): Generator<Key> {
    if (this.#beginning !== null) yield* this.#beginning.of.#keys(this.#beginning.sets);
    for (let place = 0; place < sets; place += 1) {
      const entry = this.#sets[place];
      if (entry?.before === null && this.#inherited(entry.key) === null) yield entry.key;
    }
  }

  #entry(key: Key, sets: number): Entry<Key, Value> | null {
    let entry = this.#newest.get(key) ?? null;
    while (entry !== null && entry.place >= sets) entry = entry.before;
    return entry ?? this.#inherited(key);
  }

  #inherited(key: Key): Entry<Key, Value> | null {
    return this.#beginning === null ? null : this.#beginning.of.#entry(key, this.#beginning.sets);
  }
}

/** A copy of a map; of a `GrowingMap` one that shares its entries. */
export const copiedMap = <Key, Value>(map: ReadonlyMap<Key, Value>): Map<Key, Value> =>
  map instanceof GrowingMap ? map.copy() : new Map(map);
