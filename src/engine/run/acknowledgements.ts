/** Work of a layer that waits until a server has answered a request made within a call. */
export type Acknowledgement = {
  readonly frame: string;
  /** How many responses the run had received by then: those were answers to earlier requests. */
  readonly after: number;
  readonly work: () => void;
};

/** Runs what waited for the `index`-th response of the run, which came to `frame` and is durable. */
export function acknowledge(waiting: Acknowledgement[], index: number, frame: string): void {
  const isDue = (one: Acknowledgement): boolean => one.after <= index && frame.startsWith(`${one.frame}.`);
  const due = waiting.filter(isDue);
  waiting.splice(0, waiting.length, ...waiting.filter((one) => !isDue(one)));
  for (const { work } of due) {
    try {
      work();
    } catch {
      // The answer is in the log whatever becomes of who waited for it.
    }
  }
}
