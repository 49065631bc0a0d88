import { isAside, parentOf } from "../domain/frame.ts";

/**
 * The frames that a run has come to, as the frames of its events tell: the n-th call of a frame was made after those before
 * it, whether or not an event speaks of them.
 */
export class KnownFrames {
  /** How many calls were made from each frame. */
  readonly #calls = new Map<string, number>();

  see(frame: string): void {
    for (let at = isAside(frame) ? parentOf(frame) : frame; at.includes("."); at = parentOf(at)) {
      const calls = numberOf(at) + 1;
      if (this.calls(parentOf(at)) >= calls) return;
      this.#calls.set(parentOf(at), calls);
    }
  }

  has(frame: string): boolean {
    if (!frame.includes(".")) return frame === "0";
    return /\.(0|[1-9]\d*)$/.test(frame) && numberOf(frame) < this.calls(parentOf(frame));
  }

  /** How many calls of `next` a frame has made. */
  calls(frame: string): number {
    return this.#calls.get(frame) ?? 0;
  }
}

const numberOf = (frame: string): number => Number(frame.slice(frame.lastIndexOf(".") + 1));
