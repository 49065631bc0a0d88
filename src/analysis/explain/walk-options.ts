import { anything, choiceOf, optionsOf } from "../../base/options.ts";

/** Which part of a conversation to walk. */
export type WalkOptions = {
  /** The first revision; a negative one counts from the end. By default 0. */
  readonly from?: number;
  /** The last revision. By default -1, the newest when the walk begins. */
  readonly to?: number;
  /** `backwards` gives the newest first. By default `forwards`. */
  readonly direction?: (typeof directions)[number];
};

const directions = ["forwards", "backwards"] as const;

/** It is looked at before anything is read. */
export const walkOptions = optionsOf<WalkOptions>({
  ...{ from: anything, to: anything, direction: choiceOf(...directions) },
});
