/**
 * Finds whether a content contains one of many texts. Its steps grow with the content, not with the number of texts: the hash of each window of
 * the content is looked up among the hashes of the texts' beginnings.
 */
export class TextIndex {
  readonly #few: readonly string[];
  /** By the length of their window, its hash, and their own length. */
  readonly #many = new Map<number, Map<number, Map<number, Set<string>>>>();
  #compared = 0;

  constructor(texts: readonly string[]) {
    const distinct = new Set(texts);
    const isFew = distinct.size <= maxFew;
    this.#few = [...distinct].filter((text) => isFew || text === "");
    if (!isFew) for (const text of distinct) if (text !== "") this.#add(text);
  }

  /** How often texts were looked up in a content, or at a place in it. */
  get compared(): number {
    return this.#compared;
  }

  isIn(content: string): boolean {
    return this.#few.some((text) => this.#isFewIn(content, text)) || this.#isOneOfManyIn(content);
  }

  #add(text: string): void {
    const window = windowOf(text);
    const byHash = this.#many.get(window) ?? new Map<number, Map<number, Set<string>>>();
    this.#many.set(window, byHash);
    const hash = hashOf(text, window);
    const byLength = byHash.get(hash) ?? new Map<number, Set<string>>();
    byHash.set(hash, byLength);
    const texts = byLength.get(text.length);
    if (texts === undefined) byLength.set(text.length, new Set([text]));
    else texts.add(text);
  }

  #isFewIn(content: string, text: string): boolean {
    this.#compared += 1;
    return content.includes(text);
  }

  #isOneOfManyIn(content: string): boolean {
    for (const [window, byHash] of this.#many) {
      if (content.length < window) continue;
      const leaving = powerOf(base, window);
      let hash = hashOf(content, window);
      for (let at = 0; ; at += 1) {
        const byLength = byHash.get(hash);
        if (byLength !== undefined && this.#isOneAt(content, at, byLength)) return true;
        if (at + window === content.length) break;
        hash = next(hash, content.charCodeAt(at + window)) - Math.imul(content.charCodeAt(at), leaving);
        hash |= 0;
      }
    }
    return false;
  }

  /** Texts may begin alike by the thousand, so those of one length are looked up together. */
  #isOneAt(content: string, at: number, byLength: ReadonlyMap<number, ReadonlySet<string>>): boolean {
    for (const [length, texts] of byLength) {
      this.#compared += 1;
      if (texts.has(content.slice(at, at + length))) return true;
    }
    return false;
  }
}

/** Up to this number, a search for each text by itself is faster. */
const maxFew = 32;

/** The largest power of two that is not longer than the text: so few windows serve texts of all lengths. */
const windowOf = (text: string): number => 2 ** (31 - Math.clz32(text.length));

const base = 0x01000193;

const next = (hash: number, code: number): number => (Math.imul(hash, base) + code) | 0;

function hashOf(text: string, window: number): number {
  let hash = 0;
  for (let at = 0; at < window; at += 1) hash = next(hash, text.charCodeAt(at));
  return hash;
}

function powerOf(factor: number, times: number): number {
  let power = 1;
  for (let n = 0; n < times; n += 1) power = Math.imul(power, factor);
  return power;
}
