import type { LayerDescription } from "../../domain/events/run-events.ts";
import type { Layer } from "../../engine/ports/middleware.ts";

/** A place in a stack: the layer there, and the one that an earlier stack had there. One of the two may be null. */
type Slot<Earlier> = { readonly layer: Layer | null; readonly earlier: Earlier | null };

type Named = Pick<LayerDescription, "name">;

type Aligned = {
  readonly layers: readonly Layer[];
  /** The layers of the run that the stack does not have, which do nothing in their places. */
  readonly leftOut: ReadonlySet<string>;
};

/** Layers of an earlier stack that take their places in a stack again. */
export type Restored<Earlier> = {
  readonly names: ReadonlySet<string>;
  /** The earlier layer, in place of this one of the stack; null if the stack has none there. */
  readonly make: (earlier: Earlier, layer: Layer | null) => Layer;
};

/**
 * A stack with an idle layer in place of each one that the recorded stack had besides. Frames keep their numbers, so that the layers inside
 * draw the same ids and numbers as before.
 */
export function alignedLayers(
  stack: readonly Layer[],
  recorded: readonly LayerDescription[],
  restored: Restored<LayerDescription> | null = null,
): Aligned {
  const leftOut = new Set<string>();
  const layers = slotsOf(stack, recorded).flatMap((slot): readonly Layer[] => {
    if (restored !== null && isNamed(slot, restored.names)) return restoredIn(slot, restored);
    if (slot.layer !== null) return [slot.layer];
    if (slot.earlier === null) return [];
    leftOut.add(slot.earlier.name);
    return [{ ...slot.earlier, handle: (call) => (turn) => call(turn) }];
  });
  return { layers, leftOut };
}

/** A stack with the earlier versions of some layers: without those that the earlier stack did not have. */
export const withEarlierLayers = <Earlier extends Named>(
  stack: readonly Layer[],
  earlier: readonly Earlier[],
  restored: Restored<Earlier>,
): readonly Layer[] =>
  slotsOf(stack, earlier).flatMap((slot) => {
    if (isNamed(slot, restored.names)) return restoredIn(slot, restored);
    return slot.layer === null ? [] : [slot.layer];
  });

const isNamed = ({ layer, earlier }: Slot<Named>, names: ReadonlySet<string>): boolean =>
  names.has(layer?.name ?? "") || names.has(earlier?.name ?? "");

const restoredIn = <Earlier>({ layer, earlier }: Slot<Earlier>, { make }: Restored<Earlier>): readonly Layer[] =>
  earlier === null ? [] : [make(earlier, layer)];

function slotsOf<Earlier extends Named>(
  stack: readonly Layer[],
  earlier: readonly Earlier[],
): readonly Slot<Earlier>[] {
  const here = new Set(stack.map(({ name }) => name));
  const there = new Map(earlier.map((each) => [each.name, each]));
  const slots: Slot<Earlier>[] = [];
  let next = 0;
  for (const description of earlier) {
    const layer = stack[next];
    const isHere = here.has(description.name);
    // Another name in its place is the same layer, or does its work.
    if (!isHere && (layer === undefined || there.has(layer.name))) {
      slots.push({ layer: null, earlier: description });
      continue;
    }
    next += 1;
    if (layer !== undefined) slots.push({ layer, earlier: there.get(layer.name) ?? (isHere ? null : description) });
  }
  return [...slots, ...stack.slice(next).map((layer) => ({ layer, earlier: there.get(layer.name) ?? null }))];
}
