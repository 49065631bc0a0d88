/** Values that are shared as long as something holds them, and dropped with their last holder. */
export class WeakValues<Key, Value extends WeakKey> {
  readonly #values = new Map<Key, WeakRef<Value>>();
  readonly #gone = new FinalizationRegistry<Key>((key) => {
    // By now the key may belong to a newer value.
    if (this.#values.get(key)?.deref() === undefined) this.#values.delete(key);
  });

  /** The value of a key: the one in use, or a new one. */
  get(key: Key, make: () => Value): Value {
    const held = this.#values.get(key)?.deref();
    if (held !== undefined) return held;
    const made = make();
    this.#values.set(key, new WeakRef(made));
    this.#gone.register(made, key);
    return made;
  }
}
