import type { RunPart } from "./stream-part.ts";

/**
 * The parts of a run as an iterable that also ends as the run ends: normally, or by its error. Leaving early aborts the run
 * and waits for its end, so that nothing goes on behind the reader's back.
 */
export async function* createPartQueue(
  begin: (onPart: (part: RunPart) => void, signal: AbortSignal) => Promise<unknown>,
): AsyncIterable<RunPart> {
  const parts: RunPart[] = [];
  let wake = Promise.withResolvers<null>();
  const left = new AbortController();
  const state = { isOver: false };
  const run = begin((part) => {
    parts.push(part);
    wake.resolve(null);
  }, left.signal).finally(() => {
    state.isOver = true;
    wake.resolve(null);
  });
  run.catch(() => undefined);
  try {
    for (;;) {
      yield* parts.splice(0);
      if (state.isOver && parts.length === 0) break;
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
