/** A value that was set, and those that its key had before and after. */
type Entry<Key, Value> = {
  readonly key: Key;
  readonly value: Value;
  readonly place: number;
  readonly before: Entry<Key, Value> | null;
  /** The one that the key got next. */
  after: Entry<Key, Value> | null;
};

/** What a map held after a number of sets, and how many keys that were. */
type Beginning<Key, Value> = { readonly of: GrowingMap<Key, Value>; readonly sets: number; readonly keys: number };

/**
 * A map that only grows, and whose copies cost nothing until they change: a copy shares what the original held at that time, also when
 * the original goes on.
 */
export class GrowingMap<Key, Value> extends Map<Key, Value> {
  readonly #beginning: Beginning<Key, Value> | null;
  readonly #sets: Entry<Key, Value>[] = [];
  readonly #newest = new Map<Key, Entry<Key, Value>>();
  #keys: number;

  constructor(beginning: Beginning<Key, Value> | null = null) {
    super();
    this.#beginning = beginning;
    this.#keys = beginning?.keys ?? 0;
  }

  copy(): GrowingMap<Key, Value> {
    if (this.#beginning === null) return new GrowingMap({ of: this, sets: this.#sets.length, keys: this.#keys });
    // Copies of copies share the same beginning, so that a look at a key never passes more than two maps.
    const copy = new GrowingMap(this.#beginning);
    for (const { key, value } of this.#sets) copy.set(key, value);
    return copy;
  }

  override get size(): number {
    return this.#keys;
  }

  override get(key: Key): Value | undefined {
    return this.#entry(key, this.#sets.length)?.value;
  }

  override has(key: Key): boolean {
    return this.#entry(key, this.#sets.length) !== null;
  }

  override set(key: Key, value: Value): this {
    const before = this.#newest.get(key) ?? null;
    const known = before ?? this.#inherited(key);
    if (known !== null && known.value === value) return this;
    const entry: Entry<Key, Value> = { key, value, place: this.#sets.length, before, after: null };
    if (before !== null) before.after = entry;
    if (known === null) this.#keys += 1;
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
    for (const { key } of this.#entries()) yield key;
  }

  override *values(): MapIterator<Value> {
    for (const { value } of this.#entries()) yield value;
  }

  override *entries(): MapIterator<[Key, Value]> {
    yield* this;
  }

  override forEach(look: (value: Value, key: Key, map: Map<Key, Value>) => void): void {
    for (const { key, value } of this.#entries()) look(value, key, this);
  }

  override *[Symbol.iterator](): MapIterator<[Key, Value]> {
    for (const { key, value } of this.#entries()) yield [key, value];
  }

  /** The values in the opposite order: a reader that stops early costs only what it read. */
  *newestFirst(): Generator<Value> {
    for (let place = this.#sets.length - 1; place >= 0; place -= 1) {
      const entry = this.#firstAt(place);
      if (entry !== null && this.#inherited(entry.key) === null) yield newestBelow(entry, this.#sets.length).value;
    }
    if (this.#beginning === null) return;
    const { of, sets } = this.#beginning;
    for (let place = sets - 1; place >= 0; place -= 1) {
      const entry = of.#firstAt(place);
      if (entry !== null) yield (this.#newest.get(entry.key) ?? newestBelow(entry, sets)).value;
    }
  }

  /** The entry of a set, if it was the first of its key. */
  #firstAt(place: number): Entry<Key, Value> | null {
    const entry = this.#sets[place];
    return entry === undefined || entry.before !== null ? null : entry;
  }

  /** In the order in which the keys were first set, as in any map: a list, because a look at each by its key takes many times longer. */
  #entries(): readonly Entry<Key, Value>[] {
    const entries: Entry<Key, Value>[] = [];
    if (this.#beginning !== null) {
      const { of, sets } = this.#beginning;
      const isReplaced = this.#sets.length > 0;
      for (const entry of of.#newestOf(sets)) entries.push((isReplaced && this.#newest.get(entry.key)) || entry);
    }
    for (const entry of this.#newestOf(this.#sets.length)) if (this.#inherited(entry.key) === null) entries.push(entry);
    return entries;
  }

  /** What each key of these sets had after them. */
  #newestOf(sets: number): readonly Entry<Key, Value>[] {
    const entries: Entry<Key, Value>[] = [];
    for (let place = 0; place < sets; place += 1) {
      const entry = this.#firstAt(place);
      if (entry !== null) entries.push(newestBelow(entry, sets));
    }
    return entries;
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

/** What a key had after so many sets. */
function newestBelow<Key, Value>(first: Entry<Key, Value>, sets: number): Entry<Key, Value> {
  let entry = first;
  while (entry.after !== null && entry.after.place < sets) entry = entry.after;
  return entry;
}

/** A copy of a map; of a `GrowingMap` one that shares its entries. */
export const copiedMap = <Key, Value>(map: ReadonlyMap<Key, Value>): Map<Key, Value> =>
  map instanceof GrowingMap ? map.copy() : new Map(map);
