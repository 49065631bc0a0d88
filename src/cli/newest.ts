/** The newest of what is added: as many as were asked for, or all. */
export class Newest<Item> {
  readonly #limit: number;
  readonly #items: Item[] = [];

  /** @param limit - 0 keeps all. */
  constructor(limit: number) {
    this.#limit = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  }

  add(item: Item): void {
    this.#items.push(item);
    // Only now and then, because what is in front of a list is dear to take away.
    if (this.#items.length >= this.#limit * 2) this.#items.splice(0, this.#items.length - this.#limit);
  }

  /** The oldest first. */
  get items(): readonly Item[] {
    return Number.isFinite(this.#limit) ? this.#items.slice(-this.#limit) : this.#items;
  }
}
