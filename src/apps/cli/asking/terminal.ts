import { createInterface } from "node:readline";

/** The two ends of a terminal. */
export type TerminalStreams = { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream };

/** Lines that a person types, or that a pipe brings. */
export type Lines = Disposable & {
  /** The next line; null at the end. */
  readonly next: () => Promise<string | null>;
};

/** Lines of a person, who can be asked something in between. */
export type Terminal = Lines & {
  /**
   * The line that answers a question; null at the end, or when the signal aborts. A line that was typed before the question is no answer to
   * it: `next` returns it later.
   *
   * @param prefilled - A text to edit.
   */
  readonly ask: (question: string, signal: AbortSignal, prefilled?: string) => Promise<string | null>;
};

type Waiter = (line: string | null) => void;

/**
 * Reads a terminal. It stays in use between two questions, so that lines which are typed or pasted meanwhile wait for their turn, and
 * ctrl-C is a call of `onInterrupt` and not a signal.
 */
export function openTerminal(
  { input, output }: TerminalStreams,
  { prompt, onInterrupt }: { readonly prompt: string; readonly onInterrupt: () => void },
): Terminal {
  const reading = createInterface({ input, output, terminal: true });
  const waiting: string[] = [];
  const state: { next: Waiter | null; answer: Waiter | null; hasEnded: boolean } = {
    ...{ next: null, answer: null, hasEnded: false },
  };
  const give = (line: string | null): void => {
    const waiter = state.answer ?? state.next;
    if (state.answer !== null) state.answer = null;
    else state.next = null;
    if (waiter !== null) waiter(line);
    else if (line !== null) waiting.push(line);
  };
  reading.on("line", give);
  reading.on("SIGINT", onInterrupt);
  reading.on("close", () => {
    state.hasEnded = true;
    give(null);
    give(null);
  });
  return {
    next() {
      const line = waiting.shift();
      if (line !== undefined) return Promise.resolve(line);
      if (state.hasEnded) return Promise.resolve(null);
      reading.setPrompt(prompt);
      reading.prompt();
      return new Promise((resolve) => {
        state.next = resolve;
      });
    },
    ask(question, signal, prefilled = "") {
      if (state.hasEnded || signal.aborted) return Promise.resolve(null);
      reading.setPrompt(question);
      reading.prompt();
      if (prefilled !== "") reading.write(prefilled);
      return new Promise((resolve) => {
        const onAbort = (): void => {
          state.answer = null;
          // What was typed so far is not part of the next message.
          reading.write(null, { ctrl: true, name: "u" });
          output.write("\n");
          resolve(null);
        };
        signal.addEventListener("abort", onAbort, { once: true });
        state.answer = (line) => {
          signal.removeEventListener("abort", onAbort);
          resolve(line);
        };
      });
    },
    [Symbol.dispose]() {
      reading.close();
    },
  };
}

/** Reads the lines of a pipe or a file. */
export function linesOf(input: AsyncIterable<Uint8Array>): Lines {
  const lines = splitLines(input);
  return {
    next: async () => {
      const { done, value } = await lines.next();
      return done === true ? null : value;
    },
    [Symbol.dispose]() {
      // An input that waits for its next piece would hold the command back.
      lines.return(undefined).catch(() => undefined);
    },
  };
}

async function* splitLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of input) {
    const parts = (rest + decoder.decode(piece, { stream: true })).split(/\r?\n/);
    rest = parts.pop() ?? "";
    yield* parts;
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}
