import type { Quarantine, ViewRow } from "../log/ports/view-store.ts";

/** A view as readers get it: a copy, which nobody changes any more. */
export type ProjectedView<View> = {
  readonly key: string;
  readonly view: View;
  /** Of the newest event of its key. */
  readonly position: string;
  /** Null when the view lacks nothing; else it is degraded from the first of these events on. */
  readonly quarantine: Quarantine | null;
};

export const projectedView = <View>({ key, view, position, quarantine }: ViewRow): ProjectedView<View> => ({
  // Rows of a build are written by the projection and the version that read them.
  ...{ key, view: JSON.parse(view) as View, position, quarantine },
});
