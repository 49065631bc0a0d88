import { foldText } from "../../base/fold-text.ts";

/** How many bytes of a text have to be together to count as found. */
const fragmentBytes = 16;
/** With more fragments, a search takes them at even distances. */
const maxFragments = 65_536;

const base = 0x01000193;
/** What the first byte of a fragment counts in the hash of the fragment. */
const first = Array.from({ length: fragmentBytes - 1 }).reduce<number>((power) => Math.imul(power, base), 1);

/** The forms in which a store's files contain a text: as JSON, and as the search index folds it. */
export const formsOf = (text: string): readonly string[] => {
  const json = JSON.stringify(text).slice(1, -1);
  return [...new Set([json, JSON.stringify(json).slice(1, -1), JSON.stringify(foldText(text)).slice(1, -1)])];
};

/** Finds pieces of texts in bytes, all of them in one pass. */
export class Fragments {
  readonly #byHash = new Map<number, Buffer[]>();
  /** A bit for each value of some bits of a hash, because most places of a file match none. */
  readonly #mayBe = new Uint8Array(1 << 22);

  constructor(texts: readonly string[]) {
    const all: Buffer[] = [];
    for (const text of texts)
      for (const form of formsOf(text)) {
        const bytes = Buffer.from(form);
        for (let at = 0; at + fragmentBytes <= bytes.length; at += fragmentBytes)
          all.push(bytes.subarray(at, at + fragmentBytes));
      }
    const step = Math.max(1, all.length / maxFragments);
    for (let at = 0; at < all.length; at += step) this.#add(all[Math.floor(at)] ?? Buffer.alloc(fragmentBytes));
  }

  #add(fragment: Buffer): void {
    let hash = 0;
    for (const byte of fragment) hash = (Math.imul(hash, base) + byte) | 0;
    const same = this.#byHash.get(hash) ?? [];
    if (same.some((each) => each.equals(fragment))) return;
    this.#byHash.set(hash, [...same, fragment]);
    this.#mayBe[hash >>> 10] = 1;
  }

  get size(): number {
    return this.#byHash.size;
  }

  /** A search through bytes that come in pieces, such as a file. */
  search(): FragmentSearch {
    return new FragmentSearch(this.#byHash, this.#mayBe);
  }
}

class FragmentSearch {
  readonly #byHash: ReadonlyMap<number, readonly Buffer[]>;
  readonly #mayBe: Uint8Array;
  #hash = 0;
  /** The end of the piece before: a fragment may cross from one to the next. */
  #before: Buffer = Buffer.alloc(0);
  /** The fragments that were found. */
  readonly found = new Set<Buffer>();

  constructor(byHash: ReadonlyMap<number, readonly Buffer[]>, mayBe: Uint8Array) {
    this.#byHash = byHash;
    this.#mayBe = mayBe;
  }

  take(piece: Buffer): void {
    const bytes = this.#before.length === 0 ? piece : Buffer.concat([this.#before, piece]);
    const seen = this.#before.length;
    let hash = this.#hash;
    const mayBe = this.#mayBe;
    for (let at = seen; at < bytes.length; at += 1) {
      const out = at >= fragmentBytes ? (bytes[at - fragmentBytes] ?? 0) : 0;
      hash = (Math.imul((hash - Math.imul(out, first)) | 0, base) + (bytes[at] ?? 0)) | 0;
      if (mayBe[hash >>> 10] === 1 && at + 1 >= fragmentBytes)
        this.#look(hash, bytes.subarray(at + 1 - fragmentBytes, at + 1));
    }
    this.#hash = hash;
    this.#before = bytes.subarray(Math.max(0, bytes.length - fragmentBytes));
  }

  #look(hash: number, here: Buffer): void {
    for (const fragment of this.#byHash.get(hash) ?? []) if (fragment.equals(here)) this.found.add(fragment);
  }
}
