import type { EventNameKind } from "../../domain/names.ts";

/** Where the log tells of a name: an event, or of a completed run its first and its last one, and how many blocks it brought. */
export type NameEntry = {
  readonly stream: string;
  readonly numbers: readonly number[];
  /** At hand where the entry was made by this fold. */
  readonly runId?: string;
};

/** What events name, and what runs leave behind: a Turn that a run left, a block that a run answered. */
export type NameKind = EventNameKind | "turn" | "answer";

/** The names that a fold has come to: of a fold that began with a snapshot, those since then. */
export class Names {
  readonly #entries = new Map<string, NameEntry>();

  get(kind: NameKind, name: string): NameEntry | undefined {
    return this.#entries.get(`${kind} ${name}`);
  }

  set(kind: NameKind, name: string, entry: NameEntry): void {
    this.#entries.set(`${kind} ${name}`, entry);
  }

  /** Each kind and name as one text, in the order in which they were set. */
  entries(): Iterable<readonly [name: string, entry: NameEntry]> {
    return this.#entries;
  }

  clear(): void {
    this.#entries.clear();
  }
}
