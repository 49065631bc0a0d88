import { sha256Hex } from "../../base/sha256.ts";
import type { NameEntry, NameKind, Names } from "../fold/names.ts";
import type { SnapshotStore } from "../ports/snapshot-store.ts";
import { type ListRef, readList } from "./lists.ts";

/** A list of names, and the first letters of each of its keys: a list that cannot have a name is not read. */
export type NameList = ListRef & { readonly letters: string };

/**
 * The names that a conversation ever had. Those since the newest snapshot are in the fold; those before it stand in lists beside
 * the snapshots and are looked up there, so that a long conversation is opened without them.
 */
export class SavedNames {
  /** Those of the fold. */
  readonly held: Names;
  /** The oldest first. */
  #lists: readonly NameList[];
  /** Lists that no store keeps yet, or that are not asked of it again. */
  readonly #texts = new Map<string, string>();
  readonly #keepsTexts: boolean;

  /** @param of.keepsTexts - Lists that this fold makes stay at hand: the store has lost some before. */
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
   * What is known of these names, those that are not known left out: of a Turn the newest entry, of all else the oldest. Undefined
   * when a list that may have one of them cannot be read.
   */
  async find(
    store: SnapshotStore | undefined,
    kind: NameKind,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, NameEntry> | undefined> {
    const found = new Map<string, NameEntry>();
    const unknown = new Map(names.map((name) => [keyOfName(kind, name), name]));
    const lists = kind === "turn" ? this.#lists.toReversed() : this.#lists;
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
      if (held !== undefined && (kind === "turn" || !found.has(name))) found.set(name, held);
    }
    return found;
  }

  /** What is held, as the text of a list that is kept under a stream; empty when nothing is. */
  text(own: string): string {
    return [...this.held.entries()]
      .map(([name, { stream, numbers }]) => [keyOf(name), ...numbers, ...(stream === own ? [] : [stream])])
      .map((fields) => `\n${fields.join(" ")}`)
      .join("");
  }

  /** What was held is in this list now. */
  moveTo(list: ListRef, text: string): void {
    const letters = firstLetters(readNames(text, list.stream).map(([key]) => key));
    this.#lists = [...this.#lists, { ...list, letters }];
    this.#texts.set(list.name, text);
    this.held.clear();
  }

  /** The store keeps all lists. */
  saved(): void {
    if (!this.#keepsTexts) this.#texts.clear();
  }
}

/** Of 400 names one in 650 others has the letters of one of them. */
const letterCount = 3;
const lettersOf = (key: string): string => key.slice(0, letterCount);

export const firstLetters = (keys: readonly string[]): string => keys.map(lettersOf).join("");

function mayHave({ letters }: NameList, key: string): boolean {
  const own = lettersOf(key);
  for (let at = letters.indexOf(own); at >= 0; at = letters.indexOf(own, at + 1))
    if (at % letterCount === 0) return true;
  return false;
}

/** 72 bits: no two names of one conversation share them, by chance or by somebody's trying. */
const keyOf = (name: string): string => Buffer.from(sha256Hex(name), "hex").toString("base64url").slice(0, 12);

/** What a list of names calls one of them. */
export const keyOfName = (kind: NameKind, name: string): string => keyOf(`${kind} ${name}`);

/** All that a list of names tells, in the order in which it was noted. */
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
