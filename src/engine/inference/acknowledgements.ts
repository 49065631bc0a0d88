import type { JsonValue } from "../../base/json.ts";
import { runEffect } from "../effects/run-effect.ts";
import type { Acknowledgement, RunSession } from "../session/session.ts";

/**
 * Runs what waited for a response of the run (by number, from 0), which came to `frame` and is durable. An effect like any
 * other, at least once; the run ends after it, whatever becomes of it.
 */
export function acknowledge(
  session: RunSession,
  { index, frame }: { readonly index: number; readonly frame: string },
): void {
  const { acknowledgements, acknowledging, running } = session;
  const isDue = (one: Acknowledgement): boolean => one.after <= index && frame.startsWith(`${one.frame}.`);
  const due = acknowledgements.filter(isDue);
  if (due.length === 0) return;
  acknowledgements.splice(0, acknowledgements.length, ...acknowledgements.filter((one) => !isDue(one)));
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
    // The answer is in the log whatever becomes of who waited for it.
    const done = runEffect(session, place, effect)
      .catch(() => undefined)
      .then(() => {
        acknowledging.delete(done);
      });
    acknowledging.add(done);
  }
}
