/** Pieces of a file that is written while they are made. */
export type PieceQueue = {
  readonly pieces: AsyncIterable<string>;
  readonly push: (piece: string) => void;
  readonly end: () => void;
  /** Ends the pieces with this error. */
  readonly fail: (error: Error) => void;
};

export function createPieceQueue(): PieceQueue {
  const waiting: string[] = [];
  const state: { hasEnded: boolean; failure: Error | null; wake: (() => void) | null } = {
    ...{ hasEnded: false, failure: null, wake: null },
  };
  const wakeUp = (): void => {
    state.wake?.();
    state.wake = null;
  };
  return {
    push(piece) {
      waiting.push(piece);
      wakeUp();
    },
    end() {
      state.hasEnded = true;
      wakeUp();
    },
    fail(error) {
      state.failure = error;
      wakeUp();
    },
    pieces: (async function* () {
      for (;;) {
        for (let piece = waiting.shift(); piece !== undefined; piece = waiting.shift()) yield piece;
        if (state.failure !== null) throw state.failure;
        if (state.hasEnded) return;
        await new Promise<void>((resolve) => {
          state.wake = resolve;
        });
      }
    })(),
  };
}
