import { compactAfter, compactBefore } from "../compaction/compaction.ts";
import { type AskModel, summarisingOnce } from "../compaction/summary.ts";
import { inferStep } from "../inference/infer.ts";
import { contextLookup, type Step } from "../inference/step-request.ts";
import { engineActor, type RunSession } from "../session/session.ts";
import type { Stack } from "./frames.ts";
import { inferAside } from "./infer-aside.ts";
import { contextOf } from "./layer-context.ts";

/** The layers of a run around the core that asks the model; `onStep` sees every step before it is made. */
export function stackOf(session: RunSession, onStep: (step: Step) => void): Stack {
  const core = session.engine.compact.only === true ? summaryCore(session, onStep) : answerCore(session, onStep);
  return {
    run: session.run,
    layers: session.engine.layers,
    core,
    context: session.engine.context,
    contextOf: (layer, around) => contextOf({ session, onStep }, layer, around),
    lastPasses: new Map(),
  };
}

/** Asks the model for the next answer; shortens the Turn before and after it if the policy says so. */
const answerCore =
  (session: RunSession, onStep: (step: Step) => void): Stack["core"] =>
  async (frame, given, scope) => {
    const ask = askOf(session, { frame, scope, onStep });
    const place = { frame, scope, ask, contexts: () => contextLookup(session.run) };
    const outgoing = await compactBefore(session, { ...place, turn: given });
    const step = { frame, outgoing, scope };
    onStep(step);
    const answered = await inferStep(session, step);
    return compactAfter(session, { ...place, turn: outgoing, answered });
  };

/** Asks only for a summary. */
function summaryCore(session: RunSession, onStep: (step: Step) => void): Stack["core"] {
  const summarise = summarisingOnce(session);
  return (frame, turn, scope) => summarise({ frame, turn, scope, ask: askOf(session, { frame, scope, onStep }) });
}

type Asking = Pick<Step, "frame" | "scope"> & { readonly onStep: (step: Step) => void };

const askOf =
  (session: RunSession, { frame, scope, onStep }: Asking): AskModel =>
  (at, asked) =>
    inferAside(session, { frame, at, scope, actor: engineActor }, { asked, onStep });
