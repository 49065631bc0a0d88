import type { JsonValue } from "../../base/json.ts";
import { runEffect } from "../effects/run-effect.ts";
import type { Acknowledgement, RunSession } from "../session/session.ts";

/**
 * Runs the work that waited for a response of the run, once the response is durable. It is an effect like any other, run at least once. The
 * run does not end before it, whatever its outcome.
 */
export function acknowledge(session: RunSession): void {
  const { fold, acknowledgements, running } = session.run;
  const { waiting, underWay } = acknowledgements;
  if (waiting.length === 0) return;
  const answers = fold.durableSteps;
  const isDue = ({ after, frame }: Acknowledgement): boolean =>
    answers.slice(after).some((answer) => answer.frame.startsWith(`${frame}.`));
  const due = waiting.filter(isDue);
  if (due.length === 0) return;
  waiting.splice(0, waiting.length, ...waiting.filter((one) => !due.includes(one)));
  for (const { id, frame: from, actor, work } of due) {
    const place = {
      id,
      name: "acknowledged",
      frame: from,
      actor,
      signal: running,
      idempotent: true,
      isAside: true,
    } as const;
    const effect = async (): Promise<JsonValue> => {
      await work();
      return null;
    };
    // The answer stays in the log even if this work fails.
    const done = runEffect(session, place, effect)
      .catch(() => undefined)
      .then(() => {
        underWay.delete(done);
      });
    underWay.add(done);
  }
}
