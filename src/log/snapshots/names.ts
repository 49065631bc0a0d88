import { sha256Hex } from "../../base/sha256.ts";
import type { SnapshotStore } from "../ports/snapshot-store.ts";
import { type ListRef, readList } from "./lists.ts";

/** Where the log tells of a name: an event, or of a completed run its first and its last one, and how many blocks it brought. */
export type NameEntry = {
  readonly stream: string;
  readonly numbers: readonly number[];
  /** At hand where the entry was made by this fold. */
  readonly runId?: string;
};

/** What has the name: an appended block, a run, a late tool; a Turn that a run left, a block that a run answered. */
export type NameKind = "block" | "run" | "late" | "turn" | "answer";

/**
 * The names that a conversation ever had. Those since the newest snapshot are held; those before it stand in lists beside
 * the snapshots and are looked up there, so that a long conversation is opened without them.
 */
export class Names {
  readonly #held = new Map<string, NameEntry>();
  /** The oldest first. */
  #lists: readonly ListRef[];
  /** Lists that no store keeps yet. */
  readonly #unsaved = new Map<string, string>();

  constructor(lists: readonly ListRef[]) {
    this.#lists = lists;
  }

  get lists(): readonly ListRef[] {
    return this.#lists;
  }

  /** An entry of this fold's, since the newest snapshot; undefined for what only the lists may tell. */
  held(kind: NameKind, name: string): NameEntry | undefined {
    return this.#held.get(`${kind} ${name}`);
  }

  hold(kind: NameKind, name: string, entry: NameEntry): void {
    this.#held.set(`${kind} ${name}`, entry);
  }

  /** What is known of these names, those that are not known left out: of a Turn the newest entry, of all else the oldest. */
  async find(
    store: SnapshotStore | undefined,
    kind: NameKind,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, NameEntry>> {
    const found = new Map<string, NameEntry>();
    const unknown = new Map(names.map((name) => [keyOfName(kind, name), name]));
    const lists = kind === "turn" ? this.#lists.toReversed() : this.#lists;
    for (const list of lists) {
      if (unknown.size === 0 || store === undefined) break;
      const text = this.#unsaved.get(list.name) ?? (await readList(store, list));
      for (const [key, name] of unknown) {
        const start = text.indexOf(`\n${key} `);
        if (start < 0) continue;
        found.set(name, entryOf(text.slice(start + 1).split("\n", 1)[0] ?? "", list.stream));
        unknown.delete(key);
      }
    }
    for (const name of names) {
      const held = this.held(kind, name);
      if (held !== undefined && (kind === "turn" || !found.has(name))) found.set(name, held);
    }
    return found;
  }

  /** What is held, as the text of a list that is kept under a stream; empty when nothing is. */
  text(own: string): string {
    return [...this.#held]
      .map(([name, { stream, numbers }]) => [keyOf(name), ...numbers, ...(stream === own ? [] : [stream])])
      .map((fields) => `\n${fields.join(" ")}`)
      .join("");
  }

  /** What was held is in this list now. */
  moveTo(list: ListRef, text: string): void {
    this.#lists = [...this.#lists, list];
    this.#unsaved.set(list.name, text);
    this.#held.clear();
  }

  /** The store keeps all lists. */
  saved(): void {
    this.#unsaved.clear();
  }
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
