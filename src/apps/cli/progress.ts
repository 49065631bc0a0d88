/** Shows the progress of some work. */
export type Progress = {
  /** Leave `total` out if it is unknown. */
  readonly update: (done: number, total?: number) => void;
  /** Removes the bar. */
  readonly end: () => void;
};

export type ProgressOptions = {
  readonly label: string;
  readonly write: (text: string) => void;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Work that is done sooner shows no bar; by default `progressAfterMs`. */
  readonly afterMs?: number;
};

/** Shorter work shows no bar; a bar is redrawn at most every tenth of a second. */
export const progressAfterMs = 500;
/** For sums over all conversations: usually there are few new events to read, and a bar would only flash. */
export const catchUpAfterMs = 1_000;
const redrawMs = 100;

export const noProgress: Progress = { update: () => undefined, end: () => undefined };

export function createProgress({ label, write, now, afterMs = progressAfterMs }: ProgressOptions): Progress {
  const began = now();
  let drawnAt: number | null = null;
  return {
    update(done, total) {
      const time = now();
      if (time - began < afterMs || (drawnAt !== null && time - drawnAt < redrawMs)) return;
      drawnAt = time;
      write(`\r\u001b[K${line(label, done, total)}${timeLeft(time - began, done, total)}`);
    },
    end() {
      if (drawnAt !== null) write("\r\u001b[K");
    },
  };
}

/** From when on the time left is shown: before that, it jumps. */
const timeLeftAfterMs = 5_000;

/** About how long it still takes if it goes on like this. */
function timeLeft(passedMs: number, done: number, total: number | undefined): string {
  if (total === undefined || done <= 0 || done >= total || passedMs < timeLeftAfterMs) return "";
  const seconds = Math.ceil((passedMs / done) * (total - done) * 0.001);
  return seconds < 60 ? `, ${seconds} s left` : `, ${Math.ceil(seconds / 60)} min left`;
}

const width = 30;

function line(label: string, done: number, total: number | undefined): string {
  if (total === undefined || total <= 0) return `${label} ${done}`;
  const full = Math.min(width, Math.floor((done / total) * width));
  return `${label} [${"#".repeat(full)}${" ".repeat(width - full)}] ${done}/${total}`;
}
