import { checkChoice, checkOptions, type OptionNames } from "../base/options.ts";

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
const walkNames: OptionNames<WalkOptions> = { from: true, to: true, direction: true };

/** @throws {TypeError} for an option that is unknown or invalid, before anything is read. */
export function checkWalk(options: WalkOptions): void {
  checkOptions("walk", options, walkNames);
  checkChoice("walk: direction", options.direction ?? "forwards", directions);
}
