import type { EventNameKind } from "../../domain/decider/names.ts";

/** Where the log has a name: an event; for a completed run its first and last event, and how many blocks it added. */
export type NameEntry = {
  readonly stream: string;
  readonly numbers: readonly number[];
  /** Known only if this fold created the entry. */
  readonly runId?: string;
};

/** Names in events, and two kinds that runs leave: a block that a run answered, and the block that a run ended with. */
export type NameKind = EventNameKind | "answer" | "end";

/** The names in a fold; if it started from a snapshot, the names since then. */
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
