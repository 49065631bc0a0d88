import { partUnits, type RunPart } from "../options/run-part.ts";

/** The most deltas and `data` parts, and UTF-16 units in them, that wait for their reader; those beyond are dropped and counted. */
export const maxBufferedDeltas = 10_000;
export const maxBufferedUnits = 1_000_000;

/**
 * The parts of a run as an iterable that ends with the run: normally, or with its error. Leaving early aborts the run and waits for its
 * end, so that nothing continues unseen. The run never waits for its reader: if the reader is too slow, deltas are dropped and counted
 * (`deltas-dropped`).
 */
export async function* iterateParts(
  begin: (onPart: (part: RunPart) => void, signal: AbortSignal) => Promise<unknown>,
): AsyncIterable<RunPart> {
  const buffer = new PartBuffer();
  let wake = Promise.withResolvers<null>();
  const left = new AbortController();
  const state = { isOver: false };
  const run = begin((part) => {
    buffer.add(part);
    wake.resolve(null);
  }, left.signal).finally(() => {
    state.isOver = true;
    wake.resolve(null);
  });
  run.catch(() => undefined);
  try {
    for (;;) {
      yield* buffer.take();
      if (state.isOver && buffer.isEmpty) break;
      await wake.promise;
      wake = Promise.withResolvers<null>();
    }
    await run;
  } finally {
    if (!state.isOver) {
      left.abort(new Error("the reader of the stream has left"));
      await run.catch(() => undefined);
    }
  }
}

/** The parts that the reader has not taken yet. Facts are not dropped: they are few, and their blocks are in memory in any case. */
class PartBuffer {
  #parts: RunPart[] = [];
  #deltas = 0;
  #units = 0;

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  add(part: RunPart): void {
    const units = partUnits(part);
    if (part.type === "usage") this.#tellUsage(part);
    else if (units === null) this.#parts.push(part);
    else if (this.#deltas < maxBufferedDeltas && this.#units + units <= maxBufferedUnits) {
      this.#deltas += 1;
      this.#units += units;
      this.#parts.push(part);
    } else this.#drop();
  }

  take(): readonly RunPart[] {
    const taken = this.#parts;
    this.#parts = [];
    this.#deltas = 0;
    this.#units = 0;
    return taken;
  }

  /** A server may report its usage with every piece of an answer. Each report covers all of it, so the newest is enough. */
  #tellUsage(part: Extract<RunPart, { readonly type: "usage" }>): void {
    const before = this.#parts.findLastIndex((other) => other.type === "usage" && other.frame === part.frame);
    if (before >= 0) this.#parts.splice(before, 1);
    // Before the count of dropped deltas, which continues.
    const isDropping = this.#parts.at(-1)?.type === "deltas-dropped";
    this.#parts.splice(this.#parts.length - (isDropping ? 1 : 0), 0, part);
  }

  /** Counts a dropped delta; consecutive ones share one count. */
  #drop(): void {
    const last = this.#parts.at(-1);
    const before = last?.type === "deltas-dropped" ? last.count : 0;
    if (before > 0) this.#parts.pop();
    this.#parts.push(Object.freeze({ type: "deltas-dropped", count: before + 1 } as const));
  }
}
