import { TurnlogError } from "../../base/turnlog-error.ts";

/** A layer's effect failed, now or in the recorded run; `message` is the recorded one in both cases. */
export class EffectFailedError extends TurnlogError<"effect-failed"> {
  override readonly name = "EffectFailedError";
  readonly effect: string;

  constructor(effect: string, message: string, options?: ErrorOptions) {
    super("effect-failed", message, options);
    this.effect = effect;
  }
}

/** A replayed run was left in doubt about this effect: how it would have continued is unknown. */
export class EffectInDoubtError extends TurnlogError<"effect-in-doubt"> {
  override readonly name = "EffectInDoubtError";

  constructor(what: string) {
    super("effect-in-doubt", `the log does not have the outcome of ${what}`);
  }
}
