/** Says in shared memory which layer of a thread does its own work: that can be read while the layer blocks the thread. */
export type LayerCell = Int32Array<SharedArrayBuffer>;

/** Counts what happened, so that a reader sees whether anything did. */
const changes = 0;
/** The number of the layer, from 1; 0 if none does its own work. */
const working = 1;

export const newLayerCell = (): LayerCell => new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));

/** Writes which layer works, for the thread. */
export function layerMarker(cell: LayerCell, layers: readonly string[]): (layer: string | null) => void {
  const numbers = new Map(layers.map((name, index) => [name, index + 1]));
  return (layer) => {
    Atomics.store(cell, working, layer === null ? 0 : (numbers.get(layer) ?? 0));
    Atomics.add(cell, changes, 1);
  };
}

export const readLayerCell = (cell: LayerCell) => ({
  changes: Atomics.load(cell, changes),
  working: Atomics.load(cell, working),
});
