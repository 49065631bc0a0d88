import { isAside, parentFrame } from "../../domain/frame.ts";

/**
 * The frames that a run has reached, from the frames of its events: the n-th call of a frame implies the calls before it, even if no
 * event is at their frames.
 */
export class KnownFrames {
  /** How many calls were made from each frame. */
  readonly #calls = new Map<string, number>();

  copy(): KnownFrames {
    const copy = new KnownFrames();
    for (const [frame, calls] of this.#calls) copy.#calls.set(frame, calls);
    return copy;
  }

  see(frame: string): void {
    for (let at = isAside(frame) ? parentFrame(frame) : frame; at.includes("."); at = parentFrame(at)) {
      const calls = numberOf(at) + 1;
      if (this.calls(parentFrame(at)) >= calls) return;
      this.#calls.set(parentFrame(at), calls);
    }
  }

  has(frame: string): boolean {
    if (!frame.includes(".")) return frame === "0";
    return /\.(0|[1-9]\d*)$/.test(frame) && numberOf(frame) < this.calls(parentFrame(frame));
  }

  /** How many calls of `next` a frame has made. */
  calls(frame: string): number {
    return this.#calls.get(frame) ?? 0;
  }
}

const numberOf = (frame: string): number => Number(frame.slice(frame.lastIndexOf(".") + 1));
