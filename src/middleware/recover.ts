import { anything, kindOf, optionsOf, required } from "../base/options.ts";
import { unwatched } from "../base/unwatched.ts";
import { Block } from "../domain/block.ts";
import { assistant } from "../domain/make-block.ts";
import type { Turn } from "../domain/turn.ts";
import { ReplayDivergedError } from "../engine/ports/divergence.ts";
import { EffectInDoubtError } from "../engine/ports/effect-errors.ts";
import { defineMiddleware, type Layer, type LayerContext } from "../engine/ports/middleware.ts";

/** What the user reads instead of the error: a text, a block, or null to throw the error on. */
export type RecoveryAnswer = string | Block | null;

export type RecoverOptions<Context = unknown> = {
  /** Distinguishes two such layers of one stack, also in the log. */
  readonly name?: string;
  /** Raise the major version when the answers change. */
  readonly version?: string;
  /** The answer in place of an error: one text, or a function of the error. It must give the same answer in a re-execution. */
  readonly answer:
    | string
    | ((error: unknown, turn: Turn, ctx: LayerContext<Context>) => RecoveryAnswer | Promise<RecoveryAnswer>);
};

const recoverOptions = optionsOf<RecoverOptions>({
  ...{ name: anything, version: anything },
  answer: required<RecoverOptions["answer"]>((what, given) => {
    // The signature of a function cannot be checked before it is called.
    if ((typeof given === "string" && given !== "") || typeof given === "function") return given as never;
    throw new TypeError(`${what} is ${kindOf(given)}: give the text to answer with, or a function of the error`);
  }),
});

/**
 * Answers in place of an error of the model or of a layer within, so that the run completes. The log names the error and the layer,
 * and no server holds the answer.
 *
 * It does not catch the end of the run itself: cancellation, a lost owner or store, a wait for a decision, a re-execution that
 * diverges. Nor does it answer in a run that asks for a summary only.
 */
export function recover<Context = unknown>(options: RecoverOptions<Context>): Layer<Context> {
  recoverOptions.check("recover", options);
  const { name = "recover", version = "1.0.0", answer } = options;
  const config = typeof answer === "string" ? { answer } : null;
  return defineMiddleware<Context>({ name, version, config }, (next) => async (turn, ctx) => {
    try {
      return await next(turn);
    } catch (error) {
      if (isEndOfRun(error, ctx)) throw error;
      const said: unknown = typeof answer === "string" ? answer : await answer(error, turn, ctx);
      if (said === null) throw error;
      return turn.append(answerOf(said));
    }
  });
}

/** Whether the run ends with this error whatever a layer does: the signal is aborted once nothing more can be recorded. */
const isEndOfRun = (error: unknown, ctx: Pick<LayerContext, "signal" | "summarising">): boolean =>
  ctx.signal.aborted || ctx.summarising || error instanceof ReplayDivergedError || error instanceof EffectInDoubtError;

function answerOf(given: unknown): Block {
  if (typeof given === "string" && given !== "") return assistant(given);
  if (given instanceof Block) return given;
  unwatched(given);
  throw new TypeError(`recover: answer returned ${kindOf(given)}: return a text, a block, or null`);
}
