/** What ctrl-C does in a chat: the first one cancels the answer under way, the second one leaves. */
export type Interrupts = {
  /** Resolves when the user leaves. */
  readonly left: Promise<null>;
  readonly hasLeft: () => boolean;
  readonly interrupt: () => void;
  readonly leave: () => void;
  /** Runs a piece of work that the first interrupt cancels. */
  readonly during: <Value>(work: (signal: AbortSignal) => Promise<Value>) => Promise<Value>;
};

/**
 * @param onIdle - Called for a first interrupt that finds nothing to cancel.
 * @param exit - Ends the process: for a second interrupt while the first one is still cancelling.
 */
export function createInterrupts(onIdle: () => void, exit: () => void): Interrupts {
  const left = Promise.withResolvers<null>();
  const state: { running: AbortController | null; count: number; hasLeft: boolean } = {
    ...{ running: null, count: 0, hasLeft: false },
  };
  const cancel = (): void => state.running?.abort(new Error("cancelled at the terminal"));
  const leave = (): void => {
    state.hasLeft = true;
    cancel();
    left.resolve(null);
  };
  return {
    left: left.promise,
    hasLeft: () => state.hasLeft,
    leave,
    interrupt() {
      state.count += 1;
      if (state.count > 1) {
        if (state.running === null) leave();
        else exit();
      } else if (state.running === null) onIdle();
      else cancel();
    },
    async during(work) {
      const controller = new AbortController();
      Object.assign(state, { running: controller, count: 0 });
      try {
        return await work(controller.signal);
      } finally {
        state.running = null;
      }
    },
  };
}

/** Handles the signals of the process until it is disposed of. */
export function onSignals({ interrupt, leave }: Pick<Interrupts, "interrupt" | "leave">): Disposable {
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", leave);
  return {
    [Symbol.dispose]() {
      process.off("SIGINT", interrupt);
      process.off("SIGTERM", leave);
    },
  };
}
