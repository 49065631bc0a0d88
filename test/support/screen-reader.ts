/** What a program shows, read piece by piece. */
export type ScreenReader = {
  readonly show: (text: string) => void;
  /** Resolves once the screen shows the pattern after what was read before; rejects if the program has ended without it. */
  readonly readTo: (pattern: RegExp) => Promise<string>;
  readonly end: () => void;
  readonly text: () => string;
};

export function createScreenReader(): ScreenReader {
  let screen = "";
  let read = 0;
  let hasEnded = false;
  let look = (): void => undefined;
  return {
    text: () => screen,
    show(text) {
      screen += text;
      look();
    },
    end() {
      hasEnded = true;
      look();
    },
    readTo: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          const found = pattern.exec(screen.slice(read));
          if (found === null) {
            if (hasEnded) reject(new Error(`it ended without ${String(pattern)}:\n${screen}`));
            return;
          }
          const end = read + found.index + found[0].length;
          const text = screen.slice(read, end);
          read = end;
          look = () => undefined;
          resolve(text);
        };
        look();
      }),
  };
}
