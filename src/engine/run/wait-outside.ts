import { waitingIn } from "../../projections/views/waiting.ts";
import { RunWaits } from "../session/errors.ts";
import { engineActor, type RunSession, record } from "../session/session.ts";
import { timeNow } from "../session/time-now.ts";

/**
 * Leaves the run to those outside of it who decide and answer, once all that is under way waits for them: what it waits for and the end of
 * this process's part are one append, and the stack then ends as in a crash (rule: Approval).
 */
export async function waitOutside({ run, engine }: RunSession): Promise<void> {
  const { gate, recorder, acknowledgements, fold } = run;
  // Their work belongs to what the run has done.
  if (acknowledgements.waiting.length > 0) await recorder.flush();
  if (acknowledgements.underWay.size > 0) {
    await Promise.allSettled(acknowledgements.underWay);
    gate.look();
    return;
  }
  const { waiting } = gate;
  if (waiting.length === 0) return;
  for (const { event, frame } of waiting) record(run, event, engineActor, frame);
  const data = { blockIds: waiting.map(({ id }) => id) };
  record(run, { type: "RunParked", version: 1, data }, engineActor, "0");
  await recorder.flush();
  const { run: open } = fold.view.client;
  recorder.fail(new RunWaits(open === null ? [] : waitingIn(open, timeNow(engine))));
}
