import type { SpanChange, SpanEnd, SpanKey, SpanStart } from "./span.ts";

/** How a span ends. */
export type Ending = Pick<SpanEnd, "errorType" | "errorMessage" | "attributes">;

export const endedWell: Ending = { errorType: null, errorMessage: null, attributes: {} };

/** No end of it was recorded: its process was gone, or did not wait for it. */
const unfinished: Ending = { ...endedWell, attributes: { "turnlog.unfinished": true } };

type OpenSpan = {
  readonly start: SpanStart;
  /** When something of it happened last. */
  lastAt: number;
  /** The error with which the newest of its requests ended. */
  errorType: string | null;
};

/** The spans that have begun in a process's part of a run, and have not ended. Each change is added to the given list. */
export class OpenSpans {
  readonly #open = new Map<SpanKey, OpenSpan>();

  has(key: SpanKey): boolean {
    return this.#open.has(key);
  }

  keys(): readonly SpanKey[] {
    return [...this.#open.keys()];
  }

  begin(changes: SpanChange[], start: SpanStart): void {
    if (this.#open.has(start.key)) return;
    this.#open.set(start.key, { start, lastAt: start.at, errorType: null });
    this.#touch(start.parent, start.at);
    changes.push(start);
  }

  /** Ends a span; ignores one that is not open. */
  end(changes: SpanChange[], key: SpanKey, { at, ...ending }: Ending & { readonly at: number }): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    this.#open.delete(key);
    const { parent } = open.start;
    this.#touch(parent, at);
    const above = parent === null ? undefined : this.#open.get(parent);
    if (above !== undefined && open.start.kind === "client") above.errorType = ending.errorType;
    changes.push({ type: "end", key, at, ...ending });
  }

  /** Ends the steps of which nothing is under way, at the time of the last that happened in them. */
  endIdle(changes: SpanChange[], isStep: (key: SpanKey) => boolean): void {
    const busy = new Set([...this.#open.values()].map(({ start }) => start.parent));
    for (const [key, { lastAt, errorType }] of this.#open)
      if (isStep(key) && !busy.has(key)) this.end(changes, key, { ...endedWell, at: lastAt, errorType });
  }

  /** Ends what no event has ended; `at` is when that became known, null for the time of the last that happened in each. */
  endUnfinished(changes: SpanChange[], key: SpanKey, at: number | null): void {
    const open = this.#open.get(key);
    if (open !== undefined) this.end(changes, key, { ...unfinished, at: at ?? open.lastAt });
  }

  /** Leaves a span without an end. */
  drop(key: SpanKey): void {
    this.#open.delete(key);
  }

  #touch(key: SpanKey | null, at: number): void {
    const open = key === null ? undefined : this.#open.get(key);
    if (open === undefined) return;
    open.lastAt = Math.max(open.lastAt, at);
    this.#touch(open.start.parent, at);
  }
}
