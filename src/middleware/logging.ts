import { anything, checkFunction, optionsOf } from "../base/options.ts";
import { inOneLine } from "../base/printable.ts";
import { unwatched } from "../base/unwatched.ts";
import { Turn } from "../domain/turn.ts";
import { defineMiddleware, type Layer } from "../engine/stack/middleware.ts";

/** One thing that a log says of a call. Numbers and ids only: nothing of what the conversation is about. */
export type LogEntry = {
  readonly event: "started" | "completed" | "failed";
  readonly runId: string;
  readonly frame: string;
  /** Blocks of the Turn: passed on when a call starts, with the answer when it completes. */
  readonly blocks: number;
  /** Blocks of the Turn by kind. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Milliseconds since the call started; 0 at its start. */
  readonly durationMs: number;
  /** Why it failed: the error's code or name, for its message may quote the conversation. */
  readonly error?: string;
};

export type LoggingOptions = {
  /** Tells two of them in one stack apart, in the conversation's log too. */
  readonly name?: string;
  /** Gets every entry. What it throws is lost: a log that cannot be written stops no conversation. */
  readonly write?: (entry: LogEntry) => unknown;
  /** Milliseconds from any beginning. */
  readonly now?: () => number;
};

const loggingOptions = optionsOf<LoggingOptions>({ name: anything, write: checkFunction, now: checkFunction });

/** Says what goes through its place in the stack: as the outermost layer every step, as the innermost every request. */
export function logging(options: LoggingOptions = {}): Layer {
  loggingOptions.check("logging", options);
  const { name = "logging", write = writeLine, now = () => performance.now() } = options;
  const kindsOf = createCounter();
  return defineMiddleware({ name, version: "1.0.0" }, (next) => async (turn, { runId, frame }) => {
    const since = now();
    const say = (event: LogEntry["event"], { length: blocks }: Turn, kinds: Kinds, error?: unknown): void => {
      const durationMs = event === "started" ? 0 : Math.round((now() - since) * 100) / 100;
      const entry = { event, runId, frame, blocks, kinds, durationMs };
      try {
        unwatched(write(error === undefined ? entry : { ...entry, error: nameOf(error) }));
      } catch {
        // As the option says.
      }
    };
    const asked = kindsOf(turn);
    say("started", turn, asked);
    try {
      const result = await next(turn);
      say("completed", result, kindsOf(result));
      return result;
    } catch (error) {
      say("failed", turn, asked, error ?? "unknown");
      throw error;
    }
  });
}

type Kinds = LogEntry["kinds"];

/** Counts the blocks of Turns by kind: of one that goes on where the last one ended, only what is new. */
function createCounter(): (turn: Turn) => Kinds {
  let last: { readonly turn: Turn; readonly kinds: Kinds } = { turn: Turn.empty, kinds: {} };
  return (turn) => {
    const { length, digest } = last.turn;
    const isLonger = length <= turn.length && turn.contextAt(length) === digest;
    const kinds: Record<string, number> = isLonger ? { ...last.kinds } : {};
    for (const { kind } of turn.after(isLonger ? length : 0)) kinds[kind] = (kinds[kind] ?? 0) + 1;
    last = { turn, kinds };
    return kinds;
  };
}

const nameOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
};

function writeLine({ event, runId, frame, blocks, kinds, durationMs, error }: LogEntry): unknown {
  const counted = Object.entries(kinds).map(([kind, count]) => `${count} ${kind}`);
  const took = event === "started" ? "" : ` after ${durationMs} ms`;
  const why = error === undefined ? "" : ` (${inOneLine(error)})`;
  return process.stderr.write(`${runId}/${frame} ${event}${took}${why}: ${blocks} blocks, ${counted.join(", ")}\n`);
}
