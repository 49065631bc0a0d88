import { messageOf } from "../../base/error-message.ts";
import type { Layer } from "../ports/middleware.ts";
import { RunWaits } from "../session/errors.ts";
import type { LiveRun } from "../session/session.ts";

type Called = { readonly run: LiveRun; readonly layer: Layer; readonly frame: string };

/** Shows a call of a layer to observers; null if the run has none, or if the layer is the engine's own. */
export function layerParts({ run, layer: { name: layer, version, isEngine }, frame }: Called): LayerParts | null {
  if (!run.isObserved || isEngine === true) return null;
  const since = performance.now();
  run.emit({ type: "layer-start", frame, layer, version });
  return {
    end: ({ error, ownMs, hasCalled }) => {
      // The stack of a run that waits ends as in a crash: its layers are called again.
      if (run.recorder.failure instanceof RunWaits) return;
      const outcome = error !== null ? "failed" : hasCalled ? "completed" : "short-circuited";
      const message = error === null ? null : messageOf(error.thrown);
      const times = { durationMs: hundredths(performance.now() - since), ownMs: hundredths(ownMs) };
      run.emit({ type: "layer-end", frame, layer, version, outcome, message, ...times });
    },
  };
}

export type LayerParts = { readonly end: (how: LayerEnd) => void };

type LayerEnd = {
  readonly error: { readonly thrown: unknown } | null;
  readonly ownMs: number;
  /** Whether it called `next`. */
  readonly hasCalled: boolean;
};

const hundredths = (ms: number): number => Math.round(ms * 100) / 100;
