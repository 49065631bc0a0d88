import { sha256Hex } from "../../base/sha256.ts";
import type { NameEntry, NameKind, Names } from "../aggregate/names.ts";
import type { SnapshotStore } from "../ports/snapshot-store.ts";
import { type ListRef, readList } from "./lists.ts";

/** A list of names, and the first letters of each of its keys: a list that cannot contain a name is not read. */
export type NameList = ListRef & { readonly letters: string };

/**
 * All names that a conversation ever had. Names since the newest snapshot are in the fold. Earlier ones are in lists beside
 * the snapshots and are looked up there, so that opening a long conversation does not read them.
 */
export class SavedNames {
  /** The names in the fold. */
  readonly held: Names;
  /** Oldest first. */
  #lists: readonly NameList[];
  /** Lists that the store does not hold yet, or that need not be read again. */
  readonly #texts = new Map<string, string>();
  readonly #keepsTexts: boolean;

  /** @param of.keepsTexts - Keep the lists that this fold creates in memory, because the store has lost some. */
  constructor(
    held: Names,
    { lists = [], keepsTexts = false }: { readonly lists?: readonly NameList[]; readonly keepsTexts?: boolean } = {},
  ) {
    this.held = held;
    this.#lists = lists;
    this.#keepsTexts = keepsTexts;
  }

  get lists(): readonly NameList[] {
    return this.#lists;
  }

  /**
   * The entries of these names, without unknown ones: of the block that a run ended with the newest entry, of all other kinds the oldest. Undefined if a list
   * that may contain one of them cannot be read.
   */
  async find(
    store: SnapshotStore | undefined,
    kind: NameKind,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, NameEntry> | undefined> {
    const found = new Map<string, NameEntry>();
    const unknown = new Map(names.map((name) => [keyOfName(kind, name), name]));
    const lists = kind === "end" ? this.#lists.toReversed() : this.#lists;
    for (const list of lists) {
      if (unknown.size === 0 || store === undefined) break;
      if (![...unknown.keys()].some((key) => mayHave(list, key))) continue;
      const text = this.#texts.get(list.name) ?? (await readList(store, list));
      if (text === undefined) return undefined;
      for (const [key, name] of unknown) {
        const start = text.indexOf(`\n${key} `);
        if (start < 0) continue;
        found.set(name, entryOf(text.slice(start + 1).split("\n", 1)[0] ?? "", list.stream));
        unknown.delete(key);
      }
    }
    for (const name of names) {
      const held = this.held.get(kind, name);
      if (held !== undefined && (kind === "end" || !found.has(name))) found.set(name, held);
    }
    return found;
  }

  /** The names in the fold, as the text of a list kept under a stream; empty if there are none. */
  text(own: string): string {
    return [...this.held.entries()]
      .map(([name, { stream, numbers }]) => [keyOf(name), ...numbers, ...(stream === own ? [] : [stream])])
      .map((fields) => `\n${fields.join(" ")}`)
      .join("");
  }

  /** The names in the fold are now in this list. */
  moveTo(list: ListRef, text: string): void {
    const letters = firstLetters(readNames(text, list.stream).map(([key]) => key));
    this.#lists = [...this.#lists, { ...list, letters }];
    this.#texts.set(list.name, text);
    this.held.clear();
  }

  /** The store now holds all lists. */
  saved(): void {
    if (!this.#keepsTexts) this.#texts.clear();
  }
}

/** With 400 names in a list, about one in 650 other names has the same letters as one of them. */
const letterCount = 3;
const lettersOf = (key: string): string => key.slice(0, letterCount);

export const firstLetters = (keys: readonly string[]): string => keys.map(lettersOf).join("");

function mayHave({ letters }: NameList, key: string): boolean {
  const own = lettersOf(key);
  for (let at = letters.indexOf(own); at >= 0; at = letters.indexOf(own, at + 1))
    if (at % letterCount === 0) return true;
  return false;
}

/** 72 bits: no two names of one conversation collide, neither by chance nor by an attack. */
const keyOf = (name: string): string => Buffer.from(sha256Hex(name), "hex").toString("base64url").slice(0, 12);

/** The key of a name in a list of names. */
export const keyOfName = (kind: NameKind, name: string): string => keyOf(`${kind} ${name}`);

/** All entries of a list of names, in the order in which they were added. */
export const readNames = (text: string, own: string): readonly (readonly [key: string, entry: NameEntry])[] =>
  text
    .split("\n")
    .slice(1)
    .map((line) => [line.split(" ", 1)[0] ?? "", entryOf(line, own)]);

function entryOf(line: string, own: string): NameEntry {
  const [, ...fields] = line.split(" ");
  const numbers = fields.map(Number).filter((number) => !Number.isNaN(number));
  return { stream: fields[numbers.length] ?? own, numbers };
}
