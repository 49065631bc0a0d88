import type { LayerDescription } from "../domain/events/run-events.ts";
import type { Layer } from "../engine/stack/middleware.ts";

type Aligned = {
  readonly layers: readonly Layer[];
  /** The layers of the run that the stack does not have, which do nothing in their places. */
  readonly leftOut: ReadonlySet<string>;
};

/**
 * A stack with an idle layer in place of each one that the recorded stack had besides. Frames keep their numbers, so that the layers inside
 * draw the same ids and numbers as before.
 */
export function alignedLayers(stack: readonly Layer[], recorded: readonly LayerDescription[]): Aligned {
  const here = new Set(stack.map(({ name }) => name));
  const there = new Set(recorded.map(({ name }) => name));
  const leftOut = new Set<string>();
  const layers: Layer[] = [];
  let next = 0;
  for (const { name, version, configDigest } of recorded) {
    const layer = stack[next];
    // Another name in its place is the same layer, or does its work.
    if (here.has(name) || (layer !== undefined && !there.has(layer.name))) {
      if (layer !== undefined) layers.push(layer);
      next += 1;
      continue;
    }
    leftOut.add(name);
    layers.push({ name, version, configDigest, handle: (call) => (turn) => call(turn) });
  }
  return { layers: [...layers, ...stack.slice(next)], leftOut };
}
