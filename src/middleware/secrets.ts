import type { RedactStrategy } from "./redact-options.ts";

/** A value that is hidden from the model, and what the model sees instead. */
export type Secret = {
  readonly value: string;
  readonly kind: string;
  readonly strategy: RedactStrategy;
  readonly placeholder: string;
};

type Maps = { readonly byValue: Map<string, Secret>; readonly byPlaceholder: Map<string, Secret> };

/**
 * The values that the blocks of a conversation have up to some block. Later ones share what earlier ones know: the maps move to the one
 * that was asked last, because layers mostly ask about the end of a Turn.
 */
export class Secrets {
  static readonly none = new Secrets(null, []);
  readonly #before: Secrets | null;
  readonly #own: readonly Secret[];
  #maps: Maps | null = null;

  private constructor(before: Secrets | null, own: readonly Secret[]) {
    this.#before = before;
    this.#own = own;
  }

  with(secrets: readonly Secret[]): Secrets {
    return secrets.length === 0 ? this : new Secrets(this, secrets);
  }

  get values(): Iterable<Secret> {
    return this.#asked.byValue.values();
  }

  of(value: string): Secret | undefined {
    return this.#asked.byValue.get(value);
  }

  /** The value that the model sees as this, if it may be restored. */
  shownAs(placeholder: string): Secret | undefined {
    return this.#asked.byPlaceholder.get(placeholder);
  }

  get #asked(): Maps {
    this.#maps ??= Secrets.#mapsOf(this);
    return this.#maps;
  }

  /** Takes the maps of the nearest earlier one that has them, and adds what came since. */
  static #mapsOf(secrets: Secrets): Maps {
    const later: Secrets[] = [];
    let at: Secrets | null = secrets;
    for (; at !== null && at.#maps === null; at = at.#before) later.push(at);
    const maps: Maps = (at === null ? null : at.#maps) ?? { byValue: new Map(), byPlaceholder: new Map() };
    if (at !== null) at.#maps = null;
    for (const secret of later.reverse().flatMap((each) => each.#own)) {
      maps.byValue.set(secret.value, secret);
      if (secret.strategy === "restore") maps.byPlaceholder.set(secret.placeholder, secret);
    }
    return maps;
  }
}
