import type { Quarantine, ViewRow } from "../ports/view-store.ts";

/** A view as readers get it: a copy that no longer changes. */
export type ProjectedView<View> = {
  readonly key: string;
  readonly view: View;
  /** The position of the key's newest event. */
  readonly position: string;
  /** Null if the view lacks nothing; otherwise it is degraded from the first of these events on. */
  readonly quarantine: Quarantine | null;
};

export const projectedView = <View>({ key, view, position, quarantine }: ViewRow): ProjectedView<View> => ({
  // The projection and version that read a build's rows also wrote them.
  ...{ key, view: JSON.parse(view) as View, position, quarantine },
});
