import type { LayerDescription } from "../../domain/events/run-events.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Layer } from "../../engine/ports/middleware.ts";
import type { RecordedRun } from "../recorded-runs.ts";

export type RecordedLayerOptions = {
  readonly run: RecordedRun;
  /** How many calls each recorded frame made. */
  readonly calls: ReadonlyMap<string, number>;
  /** The layer that is in this place now, whose tools and rules stay; null if there is none. */
  readonly layer: Layer | null;
  /** Called once it is handed something else than was recorded: what it would have done with that is unknown. */
  readonly onStray: () => void;
};

/**
 * Replaces a layer of which only the recording is left: where it is handed what the recorded layer was handed, it makes the same
 * calls and hands on the same Turns. The instructions that the layer gave are not recorded apart, so it gives none.
 */
export function recordedLayer(
  { name, version, configDigest }: LayerDescription,
  { run: { turns }, calls, layer, onStray }: RecordedLayerOptions,
): Layer {
  let hasStrayed = false;
  const compare = (handed: Turn, recorded: Turn | null): void => {
    if (hasStrayed || handed.digest === recorded?.digest) return;
    hasStrayed = true;
    onStray();
  };
  return {
    ...layer,
    ...{ name, version, configDigest },
    handle:
      (next) =>
      async (turn, { frame }) => {
        compare(turn, turns.given(frame));
        let result = turn;
        for (let call = 0; call < (calls.get(frame) ?? 0); call += 1) {
          if (hasStrayed) return next(result);
          const inside = `${frame}.${call}`;
          const given = turns.given(inside);
          // The same object is no edit.
          result = await next([turn, result].find(({ digest }) => digest === given.digest) ?? given);
          compare(result, turns.result(inside));
        }
        const returned = hasStrayed ? null : turns.result(frame);
        return returned === null || returned.digest === result.digest ? result : returned;
      },
  };
}
