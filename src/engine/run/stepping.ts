import type { JsonValue } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { RunResult } from "../options/result.ts";
import type { Breakpoint, Injected, Interceptor } from "../session/breakpoint.ts";

/** A run held at a stop: the next iteration releases it. */
export type HeldStop = Breakpoint & {
  /** Replaces an effect that would begin: with a response, a tool's output or an effect's value. */
  readonly inject: (answer: JsonValue) => void;
};

/** A run that waits before and after each of its effects for the caller that iterates over it. */
export type Stepping<Result = RunResult> = AsyncIterable<HeldStop> & {
  /** How the run ended. Leaving the iteration early affects the run like the death of its process: it can be resumed. */
  readonly result: Promise<Result>;
};

type Waiting = {
  readonly stop: Breakpoint;
  readonly resolve: (given: Injected | null) => void;
  readonly reject: (reason: Error) => void;
};

/** Begins a run that stops at its effects. Effects that wait at the same time are shown one after another. */
export function stepThrough<Result>(run: (interceptor: Interceptor) => Promise<Result>): Stepping<Result> {
  const waiting: Waiting[] = [];
  let left: TurnlogError | null = null;
  let hasEnded = false;
  let news = Promise.withResolvers<undefined>();
  const tell = (): void => {
    news.resolve(undefined);
    news = Promise.withResolvers();
  };
  const result = run(
    (stop) =>
      new Promise((resolve, reject) => {
        if (left !== null) reject(left);
        else waiting.push({ stop, resolve, reject });
        tell();
      }),
  );
  const end = (): void => {
    hasEnded = true;
    tell();
  };
  // A caller that wants the outcome awaits `result`.
  result.then(end, end);

  async function* stops(): AsyncGenerator<HeldStop, void, undefined> {
    let held: Waiting | undefined;
    try {
      for (;;) {
        while (waiting.length === 0 && !hasEnded) await news.promise;
        held = waiting.shift();
        if (held === undefined) return;
        let injected: Injected | null = null;
        yield {
          ...held.stop,
          inject(answer) {
            injected = { answer };
          },
        };
        held.resolve(injected);
        held = undefined;
      }
    } finally {
      left = new TurnlogError("stepping-left", "the run was left at a breakpoint; resume it to continue");
      for (const each of [held, ...waiting.splice(0)]) each?.reject(left);
      await Promise.allSettled([result]);
    }
  }
  return { result, [Symbol.asyncIterator]: stops };
}
