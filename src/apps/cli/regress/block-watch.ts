import { type LayerCell, readLayerCell } from "./layer-cell.ts";
import type { ThreadLayers } from "./messages.ts";

/** How much longer than the thread itself this one waits: a layer that only waits is ended by its thread, and fails its run. */
const graceMs = 1_000;

/**
 * Calls `onBlocked` once with the message if a layer of a thread works for longer than its limit, although the thread should have ended
 * it: then it blocks the thread. Returns a function that ends the watch.
 */
export function watchForBlocks(
  cell: LayerCell,
  { layers, layerLimitMs }: ThreadLayers,
  onBlocked: (message: string) => void,
): () => void {
  const limitMs = layerLimitMs + graceMs;
  let seen = readLayerCell(cell);
  let since = performance.now();
  const timer = setInterval(() => {
    const now = readLayerCell(cell);
    if (now.changes !== seen.changes || now.working === 0) {
      seen = now;
      since = performance.now();
      return;
    }
    if (performance.now() - since < limitMs) return;
    clearInterval(timer);
    onBlocked(`the layer ${layers[now.working - 1]} blocked its thread for longer than ${layerLimitMs} ms`);
  }, limitMs / 8);
  return () => clearInterval(timer);
}
