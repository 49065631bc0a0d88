import { rejectionOf } from "../../base/abort.ts";
import type { JsonValue } from "../../base/json.ts";
import type { Actor } from "../../domain/actor.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { Settlement } from "../../domain/events/tool-events.ts";
import { EffectInDoubtError } from "../ports/effect-errors.ts";
import { type BreakpointEffect, intercept } from "../session/breakpoint.ts";
import type { GatedCall } from "../session/gate.ts";
import type { PastEffect } from "../session/run-answers.ts";
import { type RunSession, record } from "../session/session.ts";

/** Work outside the run that is done at most once: a tool call, or an effect of a layer. */
type Undertaking<Answer> = {
  readonly frame: string;
  readonly signal: AbortSignal;
  /** Whether it may begin again although it may have happened. */
  readonly isIdempotent: boolean;
  /** Recorded before the work begins. */
  readonly start: ProposedEvent["event"];
  readonly actor: Actor;
  readonly effect: BreakpointEffect;
  /** The call or effect as the gate knows it; null if no layer waits for it. */
  readonly gated: GatedCall | null;
  /** Called when its start is durable. */
  readonly onBegin?: () => void;
  readonly work: () => Promise<Answer>;
  /** The answer for a value that an interceptor injects instead of the work. */
  readonly injected: (answer: JsonValue, failure?: string) => Answer;
  /** The answer for a settlement: a given result, or an abandoned effect. */
  readonly settled: (settlement: Exclude<Settlement, { readonly how: "rerun" }>) => Answer;
};

/** The answer of an effect, and who settled it: the actor is null if the effect was performed. */
export type Performed<Answer> = {
  readonly answer: Answer;
  readonly durationMs: number;
  readonly settledBy: Actor | null;
};

/**
 * Performs an effect as the log allows (rule: Recovery): its start is durable before it begins. Effects in doubt were decided
 * before the run was executed again (`in-doubt.ts`); only a replay meets one here. It performs nothing, so an effect that began and has no end
 * in the log never ends in it either: the replay ends as the run did, or once everything waits.
 */
export async function perform<Answer>(
  session: RunSession,
  past: Exclude<PastEffect, { readonly state: "finished" }>,
  undertaking: Undertaking<Answer>,
): Promise<Performed<Answer>> {
  const { frame, signal, isIdempotent, start, actor, effect, gated, work, injected, settled } = undertaking;
  const { journal, recorder, interceptor, gate, isReplay } = session.run;
  if (past.state === "settled" && past.settlement.how !== "rerun") {
    return { answer: settled(past.settlement), durationMs: 0, settledBy: past.actor };
  }
  if (past.state === "parked" || (past.state === "started" && (!isIdempotent || isReplay))) {
    const inDoubt = new EffectInDoubtError(effect.kind);
    if (isReplay && gated === null) throw inDoubt;
    await Promise.race([journal.consumed(), rejectionOf(signal)]);
    if (isReplay && gated !== null) return gate.wait(gated, signal);
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

/** The elapsed time since `began`, rounded to a hundredth of a millisecond. */
export const millisecondsSince = (began: number): number => Math.round((performance.now() - began) * 100) / 100;

type Deadline<Value> = {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** The error text if the work takes longer. */
  readonly tooLate: string;
  /** Receives a value that arrives after the deadline. */
  readonly onLate?: (value: Value) => void;
};

type Outcome<Value> =
  | { readonly outcome: "ok"; readonly value: Value }
  | { readonly outcome: "error" | "timeout"; readonly error: unknown };

/**
 * Runs work with a time limit.
 *
 * @throws the signal's reason when it aborts. It is then unknown whether the work took effect; the process that ends or resumes the
 *   run records that.
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
