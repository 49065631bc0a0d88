/** Values that are shared as long as somebody holds them, and forgotten with their last holder. */
export class WeakValues<Key, Value extends WeakKey> {
  readonly #values = new Map<Key, WeakRef<Value>>();
  readonly #gone = new FinalizationRegistry<Key>((key) => {
    // By now the key may stand for a value that was made since.
    if (this.#values.get(key)?.deref() === undefined) this.#values.delete(key);
  });

  /** The value of a key: the one that somebody holds, or a new one. */
  get(key: Key, make: () => Value): Value {
    const held = this.#values.get(key)?.deref();
    if (held !== undefined) return held;
    const made = make();
    this.#values.set(key, new WeakRef(made));
    this.#gone.register(made, key);
    return made;
  }
}
