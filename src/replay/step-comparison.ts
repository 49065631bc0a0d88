import type { InferenceRequestedData } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { sessionOn } from "../engine/inference/routing.ts";
import { stepRequest } from "../engine/inference/step-request.ts";
import { buildRequest } from "../engine/planning/build-request.ts";
import { ReplayDivergedError } from "../engine/ports/divergence.ts";
import { firstOtherDigest } from "../engine/recorded/checked-fold.ts";
import type { SingleStep } from "../engine/run/run.ts";
import { differenceAt, type ReplayDifference } from "./difference.ts";
import type { RecordedRun } from "./recorded-runs.ts";

/** Compares the steps of a re-execution, and keeps the first difference. */
type StepComparison = {
  readonly look: (step: SingleStep) => void;
  readonly difference: ReplayDifference | null;
};

/**
 * Compares the request of a step with the recorded requests of its frame: the settings, which layers change
 * through instructions, and the exact bytes, which show more than the digests of blocks. The journal compares the
 * Turn itself.
 */
export function stepComparison({ events }: RecordedRun): StepComparison {
  const recordedByFrame = Map.groupBy(events.filter(isRequest), ({ frame }) => frame ?? "0");
  let difference: ReplayDifference | null = null;
  return {
    get difference() {
      return difference;
    },
    look(step) {
      const { session, frame, outgoing } = step;
      for (const recorded of recordedByFrame.get(frame) ?? []) {
        const { input } = recorded.event.data;
        if ((input.outgoing ?? input.turn) !== outgoing.digest) continue;
        difference ??= stepDifference(step, recorded, events);
        if (difference === null) continue;
        const { message, field, revision } = difference;
        const error = new ReplayDivergedError(message, { frame, field, revision });
        // A layer may catch what comes out of `next`, and must not go on with it.
        session.run.recorder.fail(error);
        throw error;
      }
    },
  };
}

type Request = RecordedEvent & { readonly event: { readonly data: InferenceRequestedData } };

const isRequest = (recorded: RecordedEvent): recorded is RecordedEvent & Request =>
  recorded.event.type === "InferenceRequested";

function stepDifference(
  step: SingleStep,
  recorded: Request,
  events: readonly RecordedEvent[],
): ReplayDifference | null {
  const { decision, encoder, settingsDigest: digest, requestDigest, scope: endpoint } = recorded.event.data;
  const { scope } = step;
  const session = sessionOn(step.session, recorded.event.data.route ?? null);
  const asked = stepRequest(session, step, decision.capabilities);
  const declared = firstOtherDigest(digest, asked.settingsDigest, "settingsDigest");
  if (declared !== null) {
    const before = session.run.fold.view.server.settings.get(digest)?.["instructions"] ?? null;
    const words = firstOtherDigest(before, asked.settings["instructions"] ?? null, "instructions");
    const at = differenceAt(recorded, words ?? declared);
    return { ...at, layer: words === null ? null : instructingLayer(scope, before, { events, digest }) };
  }
  // The engine may be at another endpoint: compare with what was sent to the recorded one.
  const then = { ...asked, scope: endpoint };
  const found =
    firstOtherDigest(encoder, asked.codec.name, "encoder") ??
    firstOtherDigest(requestDigest, buildRequest(then, decision).digest, "requestDigest");
  return found === null ? null : differenceAt(recorded, found);
}

type Declared = { readonly events: readonly RecordedEvent[]; readonly digest: string };

/** The layer that adds other instructions than before, or else the one that no longer adds any. */
function instructingLayer(
  { instructions }: SingleStep["scope"],
  before: unknown,
  { events, digest }: Declared,
): string | null {
  const other = instructions.find(({ text }) => typeof before !== "string" || !before.includes(text));
  const declarer = events.find(({ event }) => event.type === "SettingsDeclared" && event.data.digest === digest);
  const actor = other?.actor ?? declarer?.actor;
  return actor?.kind === "middleware" ? actor.name : null;
}
