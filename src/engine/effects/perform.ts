import { rejectionOf } from "../../base/abort.ts";
import type { JsonValue } from "../../base/json.ts";
import type { Actor } from "../../domain/actor.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { Settlement } from "../../domain/events/tool-events.ts";
import { type BreakpointEffect, intercept } from "../session/breakpoint.ts";
import { EffectInDoubtError } from "../session/errors.ts";
import type { PastEffect } from "../session/run-answers.ts";
import { type RunSession, record } from "../session/session.ts";

/** Something outside that is done at most once: a tool call, or an effect of a layer. */
type Undertaking<Answer> = {
  readonly frame: string;
  readonly signal: AbortSignal;
  /** Whether it may be begun once more although it may have happened. */
  readonly isIdempotent: boolean;
  /** Recorded before it begins. */
  readonly start: ProposedEvent["event"];
  readonly actor: Actor;
  readonly effect: BreakpointEffect;
  /** Told when it is durable that it begins. */
  readonly onBegin?: () => void;
  readonly work: () => Promise<Answer>;
  /** What an interceptor gives in place of the work. */
  readonly injected: (answer: JsonValue, failure?: string) => Answer;
  /** What somebody said it came to, or that nobody will ever know. */
  readonly settled: (settlement: Exclude<Settlement, { readonly how: "rerun" }>) => Answer;
};

/** What it came to, by the word of whom: the actor is null where it was done and nobody had to say. */
export type Performed<Answer> = {
  readonly answer: Answer;
  readonly durationMs: number;
  readonly settledBy: Actor | null;
};

/**
 * Does it, by what the log knows of it (Recovery): it is durable that it began before it begins. What is in
 * doubt was decided before the run was executed again (`in-doubt.ts`); only a replay comes upon it here, and ends.
 */
export async function perform<Answer>(
  session: RunSession,
  past: Exclude<PastEffect, { readonly state: "finished" }>,
  undertaking: Undertaking<Answer>,
): Promise<Performed<Answer>> {
  const { frame, signal, isIdempotent, start, actor, effect, work, injected, settled } = undertaking;
  const { journal, recorder, interceptor } = session.run;
  if (past.state === "settled" && past.settlement.how !== "rerun") {
    return { answer: settled(past.settlement), durationMs: 0, settledBy: past.actor };
  }
  if (past.state === "parked" || (past.state === "started" && !isIdempotent)) {
    await journal.consumed();
    const inDoubt = new EffectInDoubtError(effect.kind);
    recorder.fail(inDoubt);
    throw inDoubt;
  }
  if (past.state !== "started") record(session.run, start, actor, frame);
  await recorder.flush();
  signal.throwIfAborted();
  undertaking.onBegin?.();
  const began = performance.now();
  const answer = await intercept(interceptor, effect, { work, injected });
  return { answer, durationMs: millisecondsSince(began), settledBy: null };
}

/** How long something took, to a hundredth. */
export const millisecondsSince = (began: number): number => Math.round((performance.now() - began) * 100) / 100;

type Deadline<Value> = {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** What is told where it takes longer. */
  readonly tooLate: string;
  /** Gets what comes when nobody waits for it any more. */
  readonly onLate?: (value: Value) => void;
};

type Outcome<Value> =
  | { readonly outcome: "ok"; readonly value: Value }
  | { readonly outcome: "error" | "timeout"; readonly error: unknown };

/**
 * Does work within its time.
 *
 * @throws the signal's reason when it aborts: whether the work took effect is not known, and the process that ends the run, or takes it
 * up, says so.
 */
export async function withinTime<Value>(
  { signal: outer, timeoutMs, tooLate, onLate }: Deadline<Value>,
  work: (signal: AbortSignal) => Value | Promise<Value>,
): Promise<Outcome<Value>> {
  const timeout = new AbortController();
  const signal = AbortSignal.any([outer, timeout.signal]);
  const timer = setTimeout(() => timeout.abort(new Error(tooLate)), timeoutMs);
  try {
    const working = Promise.resolve(work(signal));
    working.then(
      (value) => {
        if (signal.aborted) onLate?.(value);
      },
      () => undefined,
    );
    return { outcome: "ok", value: await Promise.race([working, rejectionOf(signal)]) };
  } catch (error) {
    if (outer.aborted) throw error;
    return { outcome: timeout.signal.aborted ? "timeout" : "error", error };
  } finally {
    clearTimeout(timer);
  }
}
